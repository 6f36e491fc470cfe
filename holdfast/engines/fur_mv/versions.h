// SPDX-License-Identifier: Apache-2.0
//
// Old versions of the heap's words, for readers with an old snapshot.
//
// Every word's newest committed version is in its place. Every stripe has a list of saved old
// values. A transaction that overwrites a word of the stripe first puts the old value at the front
// of the list, as {word, value, number of the overwriter}.
//   owner   of a stripe: number of its last overwriter << 1 | locked
//   head    newest saved version of any word of the stripe
// An overwriter, which holds the lock, stores in this order: version, head, owner, the words, owner
// (unlocked). A reader of snapshot s loads in the order value, owner, head:
//   number in owner <= s   The loaded value belongs to the snapshot. Had a later transaction
//                          overwritten it, the owner would show that transaction's number.
//   else                   The oldest saved version of the word by an overwriter > s has the value.
//                          If there is none, only other words of the stripe were overwritten, and
//                          the loaded value belongs to the snapshot.
// A reader never follows a link to a version by an overwriter <= s, because each version contains
// the number of the version it links to. So versions can be reused, links to them included, once
// every snapshot has passed their overwriter.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "holdfast/engines/parts/basics/stripes.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// One saved value.
struct Version {
  uint64_t word = 0;    ///< address
  uint64_t before = 0;  ///< the word's value until `over` overwrote it
  uint64_t over = 0;    ///< number of the overwriter
  uint64_t next = 0;    ///< address of the next older version of the stripe, if next_over is not 0
  uint64_t next_over = 0;
};

/// The owner words and version lists of a heap's stripes, shared by all threads.
template <class M>
struct VersionTable {
  using Word = typename M::template Atomic<uint64_t>;
  struct Stripe {
    Word owner{};
    Word head{};
  };

  VersionTable(M& machine, uint64_t count)
      : stripes(static_cast<int>(std::bit_width(count - 1))),
        table(make_zeroed_table<Stripe>(machine, stripes.count())) {}

  static bool locked(uint64_t owner) { return (owner & 1) != 0; }
  static uint64_t number(uint64_t owner) { return owner >> 1; }

  Stripe& of(uint64_t offset) const { return table[stripes.of(offset)]; }

  /// Returns an aligned word's value for snapshot s. The caller has loaded `value` from the word
  /// first, and then `number`, which is larger than s, from the stripe's owner.
  static uint64_t at(const Stripe& stripe, uint64_t number, const void* word, uint64_t value,
                     uint64_t s) {
    // Acquire: the list is complete down to the version of the owner's number.
    const auto* version =
        reinterpret_cast<const Version*>(stripe.head.load(std::memory_order_acquire));
    number = M::load(&version->over);
    while (number > s && version != nullptr) {  // null only after a planted bug
      if (M::load(&version->word) == reinterpret_cast<uintptr_t>(word)) {
        M::reach(Probe{"furmv.old_version"});
        value = M::load(&version->before);
      }
      number = M::load(&version->next_over);
      version = reinterpret_cast<const Version*>(M::load(&version->next));
    }
    return value;
  }

  Stripes stripes;
  Stripe* table;
};

/// Finds the oldest snapshot that any transaction may still read. Versions older than that are
/// free.
///
/// Thread safety: a slot's thread pins and unpins; all functions may run at the same time.
template <class M>
class SnapshotPins {
 public:
  using Word = typename M::template Atomic<uint64_t>;

  SnapshotPins(M& machine, int slots)
      : machine_(machine),
        slots_(slots),
        pins_(make_array<Pin>(machine, static_cast<size_t>(slots))),
        durable_(make_object<Pin>(machine)) {}

  /// D: all transactions up to this number are durable and their values in place. Acquire: a reader
  /// that takes it as its snapshot sees these values.
  uint64_t durable() const { return durable_->word.load(std::memory_order_acquire); }

  /// Raises D to `number`: all transactions up to it are durable.
  void advance(uint64_t number) {
    uint64_t known = durable();
    while (known < number && !durable_->word.compare_exchange(known, number)) {
    }
  }

  /// From here on no version is reused that the current snapshot, or a later one, needs. The caller
  /// takes its snapshot afterwards.
  void pin(int slot, bool update = false) {
    // Relaxed: the light fence separates the pin from the load of the snapshot. Its counterpart is
    // the heavy fence in oldest(). Either that scan sees this pin, or the snapshot is at least the
    // number that the scan started from.
    pins_[slot].word.store((durable() + 1) | (update ? kUpdate : 0), std::memory_order_relaxed);
    if (!machine_.skips(Site{"furmv.pin.fence"})) {
      machine_.light_fence();
    }
  }
  /// Release: the snapshot's loads are over before its versions can be reused.
  void unpin(int slot) { pins_[slot].word.store(0, std::memory_order_release); }

  /// The oldest snapshot that is pinned or can still be pinned. Costs a heavy fence.
  uint64_t oldest() const {
    uint64_t oldest = durable();
    if (machine_.skips(Site{"furmv.horizon"})) {
      return oldest;
    }
    // Separates the load of D from the loads of the pins.
    machine_.heavy_fence(Site{"furmv.horizon.fence"});
    for (const int s : machine_.scan(slots_, Site{"furmv.horizon.scan"})) {
      // Acquire: pairs with unpin(). The former pin's loads come before a reuse of versions.
      const uint64_t pinned = pins_[s].word.load(std::memory_order_acquire) & ~kUpdate;
      if (pinned != 0) {
        oldest = std::min(oldest, pinned - 1);
      }
    }
    return oldest;
  }

  /// Waits for all updates that are pinned; the caller is not. Costs a heavy fence.
  void await_updates() const {
    if (machine_.skips(Site{"furmv.alone.wait"})) {
      return;
    }
    // Separates the caller's lock from the loads of the pins. An update pins, then looks at the
    // lock. So either this scan sees its pin, or the update sees the lock.
    machine_.heavy_fence(Site{"furmv.alone.fence"});
    const int n = std::min(machine_.active_slots(), slots_);
    for (int s = 0; s < n; ++s) {
      // Acquire: pairs with unpin(). The other update's stores come before this thread's loads.
      uint64_t pinned = pins_[s].word.load(std::memory_order_acquire);
      while ((pinned & kUpdate) != 0) {
        pinned = machine_.wait_while(pins_[s].word, pinned);
      }
    }
  }

 private:
  static constexpr uint64_t kUpdate = uint64_t{1} << 63;

  struct alignas(kMaxLineBytes) Pin {
    Word word{};
  };
  M& machine_;
  int slots_;
  Pin* pins_;
  Pin* durable_;
};

/// The versions that one thread has saved: a ring of chunks, oldest first. If a slow reader still
/// needs all of them, the ring grows, so writers do not wait for readers. For one thread.
template <class M>
class VersionStore {
 public:
  /// Allocates memory for `chunk` versions at a time.
  VersionStore(M& machine, const SnapshotPins<M>& pins, size_t chunk)
      : machine_(&machine), pins_(&pins), chunk_(chunk) {}

  size_t versions() const { return versions_; }

  /// Returns a free version for the overwriter `number`. Numbers must not decrease from call to
  /// call. May throw bad_alloc, changing nothing.
  Version* take(uint64_t number) {
    if (chunks_.empty() || used_ == chunks_[current_].count) {
      next_chunk(number);
    }
    chunks_[current_].last = number;
    return &chunks_[current_].versions[used_++];
  }

 private:
  struct Chunk {
    Version* versions;
    size_t count;
    uint64_t last;  ///< number of the last overwriter in it
  };

  void next_chunk(uint64_t number) {
    if (!chunks_.empty()) {
      const size_t next = (current_ + 1) % chunks_.size();
      // Readers may need all versions of `number`, whose transaction is not durable.
      if (chunks_[next].last > horizon_ && chunks_[next].last < number) {
        horizon_ = pins_->oldest();
      }
      if (chunks_[next].last <= horizon_) {
        M::reach(Probe{"furmv.versions.reused"});
        current_ = next;
        used_ = 0;
        return;
      }
      M::reach(Probe{"furmv.versions.grown"});
    }
    const auto place = chunks_.empty() ? 0 : current_ + 1;
    // In proportion, so that a large transaction takes few steps.
    const size_t count = std::max(chunk_, versions_ / kShare);
    chunks_.insert(chunks_.begin() + static_cast<ptrdiff_t>(place),
                   Chunk{make_array<Version>(*machine_, count), count, 0});
    versions_ += count;
    current_ = place;
    used_ = 0;  // last, because without memory the full chunk stays the current one
  }

  M* machine_;
  const SnapshotPins<M>* pins_;
  static constexpr size_t kShare = 8;
  size_t chunk_;
  size_t versions_ = 0;
  std::vector<Chunk> chunks_;
  size_t current_ = 0;
  size_t used_ = 0;
  uint64_t horizon_ = 0;  ///< no snapshot needs versions of overwriters up to this number
};

}  // namespace holdfast
