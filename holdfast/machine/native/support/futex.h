// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace holdfast::native {

/// A number that threads sleep on until it changes. std::atomic::wait() of libstdc++ yields the
/// processor several times before each sleep, which costs more than the sleep where many threads
/// wait for a device.
///
/// Thread safe. All accesses are sequentially consistent: a thread that loads the number, then a
/// flag, and then sleeps on that number is not left asleep by one that stores the flag, then adds
/// to the number, then wakes.
class Futex {
 public:
  uint32_t load() const { return number_.load(); }
  void add() { number_.fetch_add(1); }

  /// Returns when the number is not `seen`, or for no reason.
  void wait(uint32_t seen) {
    sleepers_.fetch_add(1);
    call(FUTEX_WAIT_PRIVATE, seen);
    sleepers_.fetch_sub(1);
  }
  /// Wakes sleeping threads. Costs no system call if there is none. After add().
  void wake_one() { wake(1); }
  void wake_all() { wake(INT_MAX); }

 private:
  void wake(uint32_t most) {
    if (sleepers_.load() != 0) {
      call(FUTEX_WAKE_PRIVATE, most);
    }
  }
  void call(int operation, uint32_t value) {
    syscall(SYS_futex, &number_, operation, value, nullptr, nullptr, 0);
  }

  std::atomic<uint32_t> number_{0};
  std::atomic<uint32_t> sleepers_{0};
  static_assert(sizeof(number_) == sizeof(uint32_t));
};

}  // namespace holdfast::native
