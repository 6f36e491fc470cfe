// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/base/status.h"
#include "holdfast/machine/machine.h"

namespace holdfast::db {

/// A lock that threads hold for less than a microsecond, outside of transactions.
///
/// It also works after the medium has failed, because snapshots are released then, too.
///
/// Thread safety: any thread; with std::lock_guard.
template <class M>
class ShortLock {
 public:
  explicit ShortLock(M& machine) : machine_(machine), line_(make_object<Line>(machine)) {}

  void lock() {
    uint64_t free = 0;
    while (!line_->held.compare_exchange(free, 1)) {
      wait();
      free = 0;
    }
  }
  /// Release: the next holder sees all stores of this one.
  void unlock() { line_->held.store(0, std::memory_order_release); }

 private:
  struct alignas(kMaxLineBytes) Line {
    typename M::template Atomic<uint64_t> held;
  };

  [[gnu::noinline]] void wait() {
    try {
      machine_.wait_while(line_->held, uint64_t{1});
    } catch (const MediumFailure&) {
      machine_.pause();
    }
  }

  M& machine_;
  Line* line_;
};

}  // namespace holdfast::db
