// SPDX-License-Identifier: Apache-2.0
//
// What every thread's transaction is doing, as SI-HTM tells it (PPoPP 2019; FUR 2.2): INACTIVE;
// ACTIVE, so that it may load and store; or COMPLETED, which is an update that has made its last
// access and waits until it may commit.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// A count per thread: 4 k is INACTIVE, 4 k + 1 ACTIVE, 4 k + 2 COMPLETED. The count does what the
/// paper's time stamp does there: it tells one transaction from the same thread's next one.
template <class M>
class CommitStates {
 public:
  CommitStates(M& machine, int slots)
      : machine_(machine),
        slots_(slots),
        states_(make_array<State>(machine, static_cast<size_t>(slots))) {}

  /// ACTIVE. The caller fences before its first load: the store must be visible before it, or a
  /// committer could miss the transaction whose data it is about to change (Dekker).
  void activate(int slot) {
    // Relaxed: only this thread writes the word, and the caller's fence orders the store.
    word(slot).store(count(slot) + kActive, std::memory_order_relaxed);
  }

  /// COMPLETED. Release: the body's stores own their lines and its loads are done. The caller
  /// fences before it looks at the others.
  void complete(int slot) {
    word(slot).store(count(slot) - kActive + kCompleted, std::memory_order_release);
  }

  /// INACTIVE. Release: the transaction's loads are done, or its stores published, before others
  /// stop waiting for it.
  void leave(int slot) {
    const uint64_t now = count(slot);
    if (now % kStep != 0) {
      word(slot).store(now - now % kStep + kStep, std::memory_order_release);
    }
  }

  /// The isolation wait: for every other transaction that is ACTIVE now. Leaves early once `stop()`
  /// holds.
  template <class Stop>
  void await_active(int self, uint64_t* scratch, Stop&& stop, Site site) {
    await(self, scratch, stop, site, [](uint64_t state) { return state % kStep == kActive; });
  }

  /// The lock holder's: for every other transaction, COMPLETED ones included, so that nothing
  /// commits under the lock.
  void await_all(int self, uint64_t* scratch, Site site) {
    const auto never = [] { return false; };
    await(self, scratch, never, site, [](uint64_t state) { return state % kStep != 0; });
  }

 private:
  using Word = typename M::template Atomic<uint64_t>;
  static constexpr uint64_t kActive = 1;
  static constexpr uint64_t kCompleted = 2;
  static constexpr uint64_t kStep = 4;
  // Two hardware lines on x86 (adjacent-line prefetch), one on POWER.
  struct alignas(2 * kLineBytes) State {
    Word count{};
  };

  Word& word(int slot) const { return states_[slot].count; }
  /// One's own: relaxed.
  uint64_t count(int slot) const { return word(slot).load(std::memory_order_relaxed); }

  template <class Stop, class Busy>
  void await(int self, uint64_t* scratch, Stop&& stop, Site site, Busy&& busy) {
    const int n = machine_.skips(site) ? 0 : std::min(machine_.active_slots(), slots_);
    for (int s = 0; s < n; ++s) {
      scratch[s] = word(s).load();  // sequentially consistent: not before the caller's fence
    }
    for (int s = 0; s < n; ++s) {
      if (s == self) {
        continue;
      }
      // Until it changes to a state that is nothing to wait for, or to another transaction's.
      uint64_t now = scratch[s];
      while (busy(now) && now / kStep == scratch[s] / kStep && !stop()) {
        now = machine_.wait_while(word(s), now);
      }
    }
  }

  M& machine_;
  int slots_;
  State* states_;
};

}  // namespace holdfast
