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

/// The states by which transactions of different threads coordinate, for every slot:
///
///   activity  0, or 2 * t + 1 while a transaction is active whose snapshot has time t or later
///   version   (the paper's inCritical and endTS) kRunning; kCritical while the transaction takes
///             the time of its commit; then that time, until all its values are in place
///
/// Thread safety: a thread changes only its own slot; every thread may load and wait for others.
template <class M>
class PiscesStates {
 public:
  using Word = typename M::template Atomic<uint64_t>;
  static constexpr uint64_t kRunning = std::numeric_limits<uint64_t>::max();
  static constexpr uint64_t kCritical = kRunning - 1;

  PiscesStates(M& machine, int slots)
      : machine_(machine),
        slots_(slots),
        clock_(make_object<VersionClock<M>>(machine)),
        activity_(make_array<Activity>(machine, static_cast<size_t>(slots))),
        owners_(make_array<Owner>(machine, static_cast<size_t>(slots))) {
    for (int s = 0; s < slots; ++s) {
      owners_[s].version.store(kRunning, std::memory_order_relaxed);  // no other thread runs yet
    }
  }

  uint64_t now() const { return clock_->now.load(std::memory_order_relaxed); }  // callers order it
  StripeCopies<M>& copies(int slot) { return owners_[slot].copies; }
  const Word& version(int slot) const { return owners_[slot].version; }

  /// Begins a transaction and returns the time of its snapshot.
  uint64_t activate(int slot) {
    Word& word = activity_[slot].word;
    const uint64_t early = now();
    word.store(2 * early + 1, std::memory_order_relaxed);  // the fence below orders it
    // Separates the activity from the load of the start time (Dekker). A committer whose scan
    // misses this transaction has advanced the clock before, so its version is within the snapshot.
    machine_.fence(Site{"pisces.begin"});
    // Acquire: everything that was committed up to that time is visible.
    const uint64_t start = clock_->now.load(std::memory_order_acquire);
    if (start != early) {
      // Relaxed: the new value only lets fewer committers wait, and none needs to.
      word.store(2 * start + 1, std::memory_order_relaxed);
    }
    return start;
  }

  /// Ends the activity. Release: the transaction's loads are complete before a committer stops
  /// waiting for it.
  void deactivate(int slot) { activity_[slot].word.store(0, std::memory_order_release); }

  /// Takes the time of a commit whose block is durable, and returns it. Transactions that begin
  /// afterwards see its copies as the stripes' version.
  uint64_t publish(int slot) {
    Word& version = owners_[slot].version;
    if (!machine_.skips(Site{"pisces.critical"})) {
      version.store(kCritical, std::memory_order_relaxed);  // the addition below orders it
    }
    // A read-modify-write, so that a reader whose snapshot includes `end` sees this transaction
    // critical, and does not take the old version: its start comes from a later addition, which
    // continues the release sequence of this one. A load behind a fence would not do: the addition
    // may be another thread's, and on POWER the reader may see that one first.
    const bool skips = machine_.skips(Site{"pisces.critical.clock"});
    const uint64_t end = (skips ? now() : clock_->now.fetch_add(0)) + 1;
    // Release: the copies are visible before the time. It replaces critical in the same word, so no
    // thread sees one without the other.
    version.store(end, std::memory_order_release);
    clock_->now.fetch_add(1);
    return end;
  }

  /// Waits for every other transaction that is active with a snapshot older than `end`.
  void await_older(int self, uint64_t end, Site site) {
    for (const int s : machine_.scan(slots_, site)) {
      const Word& word = activity_[s].word;
      // Sequentially consistent: stays behind the read-modify-write in publish(). Reloading instead
      // of comparing adds no wait, because later transactions of the slot have later snapshots.
      uint64_t seen = word.load();
      while (s != self && (seen & 1) != 0 && seen / 2 < end) {
        seen = machine_.wait_while(word, seen);
      }
    }
  }

  /// Announces that the stripes are released. Release: a thread that sees this sees their new
  /// content in place.
  void settle(int slot) { owners_[slot].version.store(kRunning, std::memory_order_release); }

 private:
  struct alignas(kMaxLineBytes) Activity {
    Word word{};
  };
  struct alignas(kMaxLineBytes) Owner {
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
