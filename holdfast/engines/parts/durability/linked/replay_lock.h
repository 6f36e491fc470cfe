// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// The lock that admits one replaying thread at a time: the background thread, when asked, or a
/// thread that needs room. All functions may be called by any thread.
template <class M>
class ReplayLock {
 public:
  explicit ReplayLock(M& machine) : machine_(machine), shared_(make_object<Shared>(machine)) {}

  bool try_lock() {
    uint64_t expected = 0;
    return shared_->taken.compare_exchange(expected, 1);
  }
  /// Returns false without the lock, after waiting until its holder has released it.
  bool lock_or_wait() {
    if (try_lock()) {
      return true;
    }
    machine_.wait_while(shared_->taken, uint64_t{1});
    return false;
  }
  /// Release: the next holder sees this batch completed.
  void unlock() { shared_->taken.store(0, std::memory_order_release); }

  /// Asks the background thread for work. Relaxed, both: it is only a hint.
  void request() {
    if (!wanted()) {
      shared_->wanted.store(1, std::memory_order_relaxed);
    }
  }
  bool wanted() const { return shared_->wanted.load(std::memory_order_relaxed) != 0; }
  void satisfied() { shared_->wanted.store(0, std::memory_order_relaxed); }

 private:
  using Word = typename M::template Atomic<uint64_t>;
  struct alignas(kMaxLineBytes) Shared {
    Word taken{};
    Word wanted{};
  };
  M& machine_;
  Shared* shared_;
};

}  // namespace holdfast
