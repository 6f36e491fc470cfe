// SPDX-License-Identifier: Apache-2.0
//
// The state of every thread's transaction in SI-HTM's commit protocol (PPoPP 2019; FUR 2.2).
//
//   INACTIVE    no transaction runs
//   ACTIVE      the transaction may load and store
//   COMPLETED   an update has made its last access and waits until it may commit
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// The states of all slots. A slot's word is a count: 4 k is INACTIVE, 4 k + 1 ACTIVE, 4 k + 2
/// COMPLETED. The count replaces the paper's time stamp: it distinguishes a transaction from the
/// same thread's next one.
///
/// Thread safety: a thread changes only its own slot's state; every thread may wait for others.
template <class M>
class CommitStates {
 public:
  CommitStates(M& machine, int slots)
      : machine_(machine),
        slots_(slots),
        states_(make_array<State>(machine, static_cast<size_t>(slots))) {}

  /// Sets ACTIVE. The caller fences before its first load, so that the store is visible first.
  /// Otherwise a committer could miss the transaction whose data it is about to change (Dekker).
  void activate(int slot) {
    // Relaxed: only this thread writes the word, and the caller's fence orders the store.
    word(slot).store(count(slot) + kActive, std::memory_order_relaxed);
  }

  /// Sets COMPLETED. Release: the body's loads are done, and its stores own their lines. The caller
  /// fences before it scans the others.
  void complete(int slot) {
    word(slot).store(count(slot) - kActive + kCompleted, std::memory_order_release);
  }

  /// Sets INACTIVE. Release: the transaction's loads are done, or its stores published, before
  /// others stop waiting for it.
  void leave(int slot) {
    const uint64_t now = count(slot);
    if (now % kStep != 0) {
      word(slot).store(now - now % kStep + kStep, std::memory_order_release);
    }
  }

  /// The isolation wait: waits for every other transaction that is ACTIVE now. Returns early once
  /// `stop()` holds. `scratch` has a word per slot.
  template <class Stop>
  void await_active(int self, uint64_t* scratch, Stop&& stop, Site site) {
    await(self, scratch, stop, site, [](uint64_t state) { return state % kStep == kActive; });
  }

  /// The lock holder's wait: for every other transaction, COMPLETED ones included, so that none
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
  struct alignas(kMaxLineBytes) State {
    Word count{};
  };

  Word& word(int slot) const { return states_[slot].count; }
  /// For the own slot. Relaxed: only this thread writes the word.
  uint64_t count(int slot) const { return word(slot).load(std::memory_order_relaxed); }

  template <class Stop, class Busy>
  void await(int self, uint64_t* scratch, Stop&& stop, Site site, Busy&& busy) {
    const SlotRange slots = machine_.scan(slots_, site);
    for (const int s : slots) {
      scratch[s] = word(s).load();  // sequentially consistent: stays behind the caller's fence
    }
    for (const int s : slots) {
      if (s == self) {
        continue;
      }
      // Until the state needs no wait any more, or belongs to the thread's next transaction.
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
