// SPDX-License-Identifier: Apache-2.0
//
// The state of every thread's transaction under FUR (3.1, 3.2.1), through which transactions of
// different threads coordinate. There are two arrays. Read-only transactions touch only the first,
// so they do not invalidate the lines that the durability wait scans.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// The states of all slots:
///
///   activity    a count that is odd while a transaction of the slot is ACTIVE. It replaces the
///               paper's time stamp: it distinguishes a transaction from the same thread's next
///               one.
///   durability  0 (INACTIVE), or {NON_DURABLE, stamp} as 2 * stamp + 1
///   number      the transaction's place in the durability-marker array, from the moment it takes
///               it until it is durable there; else 0
///
/// Thread safety: a thread changes only its own slot; every thread may wait for others.
template <class M>
class StateArray {
 public:
  using Word = typename M::template Atomic<uint64_t>;

  StateArray(M& machine, int slots)
      : machine_(machine),
        slots_(slots),
        activity_(make_array<Activity>(machine, static_cast<size_t>(slots))),
        durability_(make_array<Durable>(machine, static_cast<size_t>(slots))) {}

  int slots() const { return slots_; }

  /// Sets ACTIVE. The caller fences before its first load, so that the store is visible first.
  /// Otherwise a committer could miss the transaction whose data it is about to change (Dekker).
  void activate(int slot) {
    Word& word = activity_[slot].count;
    // Relaxed: only this thread writes the word, and the caller's fence orders the store.
    word.store(word.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Sets INACTIVE. Release: the transaction's loads are complete and its stores protected (they
  /// own their lines) before a committer stops waiting for it.
  void deactivate(int slot) {
    Word& word = activity_[slot].count;
    const uint64_t count = word.load(std::memory_order_relaxed);  // only this thread writes it
    if (is_active(count)) {
      word.store(count + 1, std::memory_order_release);
    }
  }

  /// Waits for every other transaction that is ACTIVE now. Returns early once `stop()` holds.
  /// `scratch` has room for slots() words.
  template <class Stop>
  void await_active(int self, uint64_t* scratch, Stop&& stop, Site site) {
    const SlotRange slots = machine_.scan(slots_, site);
    for (const int s : slots) {
      // Sequentially consistent: stays behind the caller's own fence or read-modify-write.
      scratch[s] = activity_[s].count.load();
    }
    for (const int s : slots) {
      if (s != self && is_active(scratch[s])) {
        uint64_t count = scratch[s];
        while (count == scratch[s] && !stop()) {
          count = machine_.wait_while(activity_[s].count, scratch[s]);
        }
      }
    }
  }

  /// Announces that this slot's transaction owns `number` of the marker array.
  void take_number(int slot, uint64_t number) {
    // Release: the replayer learns of the number from the marker, and must then see this store.
    durability_[slot].number.store(number, std::memory_order_release);
  }

  /// Sets NON_DURABLE. Release: the store follows the isolation wait. It precedes the transaction's
  /// data, because the hardware commit comes after it and is itself a release.
  void publish_non_durable(int slot, uint64_t stamp) {
    if (!machine_.skips(Site{"states.non_durable"})) {
      durability_[slot].state.store(2 * stamp + 1, std::memory_order_release);
    }
  }

  /// Sets INACTIVE again. Release: the marker's fence comes before it (after an abort, nothing
  /// does). Other threads take INACTIVE to mean that the transaction is durable.
  void settle(int slot) {
    Durable& d = durability_[slot];
    if (d.state.load(std::memory_order_relaxed) != 0) {  // only this thread writes it
      d.state.store(0, std::memory_order_release);
    }
    d.number.store(0, std::memory_order_release);
  }

  /// Waits for every other transaction that is NON_DURABLE with a stamp of at most `key`.
  void await_durable(int self, uint64_t key, Site site) {
    for (const int s : machine_.scan(slots_, site)) {
      if (s == self) {
        continue;
      }
      const Word& word = durability_[s].state;
      // Acquire: after the wait, everything that the other transaction did before its store
      // happened before. Reloading instead of comparing with a snapshot adds no wait, because the
      // thread's later transactions have larger stamps.
      uint64_t state = word.load(std::memory_order_acquire);
      while (is_non_durable(state) && state / 2 <= key) {
        state = machine_.wait_while(word, state);
      }
    }
  }

  /// Waits for every other transaction that is NON_DURABLE now, whatever its stamp.
  void await_all_durable(int self, Site site) {
    for (const int s : machine_.scan(slots_, site)) {
      if (s == self) {
        continue;
      }
      const Word& word = durability_[s].state;
      const uint64_t first = word.load();
      uint64_t state = first;
      while (is_non_durable(first) && state == first) {
        state = machine_.wait_while(word, first);
      }
    }
  }

  /// True while slot s works on `number`: its marker may be stored but not durable.
  bool works_on(int slot, uint64_t number) const {
    // Acquire: pairs with take_number() and settle().
    return durability_[slot].number.load(std::memory_order_acquire) == number;
  }

  /// Waits until no other thread works on `number`. Returns false if it found none: either the
  /// owner has just taken the number without announcing it yet, or it has just finished.
  bool await_number(int self, uint64_t number) {
    for (const int s : machine_.scan(slots_, Site{})) {
      if (s != self && works_on(s, number)) {
        while (works_on(s, number)) {
          machine_.wait_while(durability_[s].number, number);
        }
        return true;
      }
    }
    return false;
  }

 private:
  // Two hardware lines on x86 (adjacent-line prefetch), one on POWER.
  struct alignas(kMaxLineBytes) Activity {
    Word count{};
  };
  struct alignas(kMaxLineBytes) Durable {
    Word state{};
    Word number{};
  };

  static bool is_active(uint64_t count) { return (count & 1) != 0; }
  static bool is_non_durable(uint64_t state) { return (state & 1) != 0; }

  M& machine_;
  int slots_;
  Activity* activity_;
  Durable* durability_;
};

}  // namespace holdfast
