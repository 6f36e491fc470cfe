// SPDX-License-Identifier: Apache-2.0
//
// Old versions of the heap's words, for readers whose snapshot is older than the heap.
//
// The newest committed version of every word is in its place. Whoever overwrites it first saves the
// old value, as {word, value, number of the overwriter}, in front of the list of the word's stripe.
//   owner   of a stripe: number of its last overwriter << 1 | locked
//   head    newest saved version of any word of the stripe
// Order of stores by an overwriter, who holds the lock: version, head, owner, the words, owner
// (unlocked). So for a reader of snapshot s, in the order value, owner, head:
//   number in owner <= s   the value read before is of the snapshot: had it been overwritten by a
//                          later transaction, the owner would say so;
//   else                   the oldest saved version of the word by an overwriter > s has the value;
//                          if there is none, the word itself was not overwritten, only others of
//                          its stripe, and the value read before is of the snapshot.
// A reader never follows a link to a version by an overwriter <= s: each version says the number of
// the one it links to. So versions can be reused, links to them and all, once every snapshot has
// passed their overwriter.
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

struct Version {
  uint64_t word = 0;    ///< address
  uint64_t before = 0;  ///< its value until `over` overwrote it
  uint64_t over = 0;
  uint64_t next = 0;  ///< address of the next older version of the stripe, if its number is not 0
  uint64_t next_over = 0;
};

/// What the transactions of a heap know of each other's versions.
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

  /// The value of an aligned word for snapshot s; `value` was read before, and `number`, which is
  /// larger than s, in the stripe's owner after it.
  static uint64_t at(const Stripe& stripe, uint64_t number, const void* word, uint64_t value,
                     uint64_t s) {
    // Acquire: the list is complete down to what the owner told of.
    const auto* version =
        reinterpret_cast<const Version*>(stripe.head.load(std::memory_order_acquire));
    number = M::load(&version->over);
    while (number > s && version != nullptr) {  // null only after a planted bug
      if (M::load(&version->word) == reinterpret_cast<uintptr_t>(word)) {
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

/// The oldest snapshot anybody may still read: what lies before it is gone.
template <class M>
class SnapshotPins {
 public:
  using Word = typename M::template Atomic<uint64_t>;

  SnapshotPins(M& machine, int slots)
      : machine_(machine),
        slots_(slots),
        pins_(make_array<Pin>(machine, static_cast<size_t>(slots))),
        durable_(make_array<Pin>(machine, 1)) {}

  /// D: all transactions up to this number are durable, and their versions in place.
  /// Acquire: who takes it as snapshot sees these versions.
  uint64_t durable() const { return durable_->word.load(std::memory_order_acquire); }

  /// All up to `number` are durable.
  void advance(uint64_t number) {
    uint64_t known = durable();
    while (known < number && !durable_->word.compare_exchange(known, number)) {
    }
  }

  /// From here on no version is reused that a snapshot of now, or a later one, needs. The caller
  /// takes its snapshot afterwards.
  void pin(int slot) {
    // Relaxed: ordered by the light fence, whose other half is in oldest(). Either that scan sees
    // this pin, or the snapshot, which is loaded behind the fence, is no older than the number the
    // scan started from.
    pins_[slot].word.store(durable() + 1, std::memory_order_relaxed);
    if (!machine_.skips(Site{"furmv.pin.fence"})) {
      machine_.light_fence();
    }
  }
  /// Release: the snapshot's loads are over.
  void unpin(int slot) { pins_[slot].word.store(0, std::memory_order_release); }

  uint64_t oldest() const {
    uint64_t oldest = durable();
    if (machine_.skips(Site{"furmv.horizon"})) {
      return oldest;
    }
    machine_.heavy_fence(Site{"furmv.horizon.fence"});  // `oldest` is loaded before the pins
    const int n = std::min(machine_.active_slots(), slots_);
    for (int s = 0; s < n; ++s) {
      const uint64_t pinned = pins_[s].word.load(std::memory_order_acquire);
      if (pinned != 0) {
        oldest = std::min(oldest, pinned - 1);
      }
    }
    return oldest;
  }

 private:
  struct alignas(2 * kLineBytes) Pin {
    Word word{};
  };
  M& machine_;
  int slots_;
  Pin* pins_;
  Pin* durable_;
};

/// Where one thread keeps the versions it has saved: a ring of chunks, oldest first. When all are
/// still needed, because a reader takes long, the ring grows: writers do not wait for readers.
template <class M>
class VersionStore {
 public:
  /// Memory is taken for `chunk` versions at a time.
  VersionStore(M& machine, const SnapshotPins<M>& pins, size_t chunk)
      : machine_(&machine), pins_(&pins), chunk_(chunk) {}

  size_t versions() const { return chunks_.size() * chunk_; }

  /// A free version, for overwriter `number`; numbers do not fall from call to call.
  Version* take(uint64_t number) {
    if (chunks_.empty() || used_ == chunk_) {
      next_chunk();
    }
    chunks_[current_].last = number;
    return &chunks_[current_].versions[used_++];
  }

 private:
  struct Chunk {
    Version* versions;
    uint64_t last;  ///< number of the last overwriter in it
  };

  void next_chunk() {
    used_ = 0;
    if (!chunks_.empty()) {
      const size_t next = (current_ + 1) % chunks_.size();
      if (chunks_[next].last > horizon_) {
        horizon_ = pins_->oldest();
      }
      if (chunks_[next].last <= horizon_) {
        current_ = next;
        return;
      }
    }
    const auto place = chunks_.empty() ? 0 : current_ + 1;
    chunks_.insert(chunks_.begin() + static_cast<ptrdiff_t>(place),
                   Chunk{make_array<Version>(*machine_, chunk_), 0});
    current_ = place;
  }

  M* machine_;
  const SnapshotPins<M>* pins_;
  size_t chunk_;
  std::vector<Chunk> chunks_;
  size_t current_ = 0;
  size_t used_ = 0;
  uint64_t horizon_ = 0;  ///< versions of overwriters up to this number are nobody's
};

}  // namespace holdfast
