// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "holdfast/engines/parts/basics/ownership_table.h"
#include "holdfast/engines/pisces/stripe_copies.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// What the transactions of different threads know of each other.
///
/// Activity of slot s: 0, or 2 * t + 1 while a transaction of s is active whose snapshot is of time
/// t or later.
///
/// Version of slot s (the paper's inCritical and endTS): kRunning, kCritical while the time of a
/// commit is being taken, then that time, until everything is in place.
template <class M>
class PiscesStates {
 public:
  using Word = typename M::template Atomic<uint64_t>;
  static constexpr uint64_t kRunning = std::numeric_limits<uint64_t>::max();
  static constexpr uint64_t kCritical = kRunning - 1;

  PiscesStates(M& machine, int slots)
      : machine_(machine),
        slots_(slots),
        clock_(make_array<VersionClock<M>>(machine, 1)),
        activity_(make_array<Activity>(machine, static_cast<size_t>(slots))),
        owners_(make_array<Owner>(machine, static_cast<size_t>(slots))) {
    for (int s = 0; s < slots; ++s) {
      owners_[s].version.store(kRunning, std::memory_order_relaxed);
    }
  }

  uint64_t now() const { return clock_->now.load(std::memory_order_relaxed); }
  StripeCopies<M>& copies(int slot) { return owners_[slot].copies; }
  const Word& version(int slot) const { return owners_[slot].version; }

  /// Begins a transaction; the time of its snapshot.
  uint64_t activate(int slot) {
    Word& word = activity_[slot].word;
    const uint64_t early = now();
    word.store(2 * early + 1, std::memory_order_relaxed);  // the fence orders it
    // Visible before the time is taken: a committer whose scan misses this transaction advanced the
    // clock before, so its version is within the snapshot (Dekker).
    machine_.fence(Site{"pisces.begin"});
    // Acquire: what was committed up to that time is seen to be.
    const uint64_t start = clock_->now.load(std::memory_order_acquire);
    if (start != early) {
      word.store(2 * start + 1, std::memory_order_relaxed);  // fewer wait for it; none needs to
    }
    return start;
  }

  /// Release: the transaction's loads are complete before a committer stops waiting for it.
  void deactivate(int slot) { activity_[slot].word.store(0, std::memory_order_release); }

  /// Takes the time of a commit whose block is durable. From then on whoever begins sees its copies
  /// as the stripes' version.
  uint64_t publish(int slot) {
    Word& version = owners_[slot].version;
    if (!machine_.skips(Site{"pisces.critical"})) {
      version.store(kCritical, std::memory_order_relaxed);  // the fence orders it
    }
    // Critical is visible before the clock is read. Else a reader whose snapshot has the time taken
    // here, or a later one, could find this transaction still running, and take the old version.
    machine_.fence(Site{"pisces.critical.fence"});
    const uint64_t end = now() + 1;
    // Release, and in one word with critical: it replaces it, so none can be seen without the
    // other.
    version.store(end, std::memory_order_release);
    clock_->now.fetch_add(1);
    return end;
  }

  /// Waits for every other transaction that is active with a snapshot from before `end`.
  void await_older(int self, uint64_t end, Site site) {
    const int n = machine_.skips(site) ? 0 : std::min(machine_.active_slots(), slots_);
    for (int s = 0; s < n; ++s) {
      const Word& word = activity_[s].word;
      // Sequentially consistent: not before the read-modify-write in publish(). Later transactions
      // of the slot have later snapshots: reading again instead of comparing waits for none of
      // them.
      uint64_t seen = word.load();
      while (s != self && (seen & 1) != 0 && seen / 2 < end) {
        seen = machine_.wait_while(word, seen);
      }
    }
  }

  /// The stripes have been given up. Release: whoever sees this sees their new content in place.
  void settle(int slot) { owners_[slot].version.store(kRunning, std::memory_order_release); }

 private:
  struct alignas(2 * kLineBytes) Activity {
    Word word{};
  };
  struct alignas(2 * kLineBytes) Owner {
    Word version{};
    StripeCopies<M> copies{};
  };

  M& machine_;
  int slots_;
  VersionClock<M>* clock_;
  Activity* activity_;
  Owner* owners_;
};

}  // namespace holdfast
