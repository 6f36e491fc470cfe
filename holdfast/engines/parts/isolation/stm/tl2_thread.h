// SPDX-License-Identifier: Apache-2.0
//
// One thread's transaction under TL2 (Dice, Shalev, Shavit: Transactional Locking II, DISC 2006).
//
// Stripes carry versions. A transaction sees the state at the time of the version clock at which it
// began, and aborts when it meets a newer stripe. It keeps its stores to itself until commit, which
// locks the stripes of the write set all at once.
//
//   lock word   the version of the stripe, or kLocked | slot
//
// Opacity: every value returned was current at time `start`. So a transaction that will abort also
// sees only the state of one moment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "holdfast/engines/parts/basics/body_allocator.h"
#include "holdfast/engines/parts/basics/ownership_table.h"
#include "holdfast/engines/parts/basics/write_set.h"
#include "holdfast/engines/parts/isolation/stm/software_transaction.h"

namespace holdfast {

/// The transaction, and the memory it keeps between transactions. For one thread.
template <class M>
class alignas(kMaxLineBytes) Tl2Thread : public SoftwareContext {
 public:
  using Lock = typename OwnershipTable<M>::Lock;

  Tl2Thread(M& machine, const OwnershipTable<M>& table, VersionClock<M>& clock, int own_slot)
      : backoff(static_cast<uint64_t>(own_slot)),
        machine_(machine),
        table_(table),
        clock_(clock),
        mine_(kLocked | static_cast<uint64_t>(own_slot)) {
    slot = own_slot;
  }

  Backoff backoff;
  WriteSet writes;

  void begin(Mode new_mode) {
    prepare_context(new_mode);
    reads_.clear();
    writes.clear();
    newer_.clear();
    filter_ = 0;
    // Acquire: a committer with a time up to this one had locked its stripes before. This thread
    // sees them locked, or released with the new version.
    start_ = clock_.now.load(std::memory_order_acquire);
  }

  template <class T>
  T load(const T* p) {
    if ((filter_ & bit_of(p)) == 0) [[likely]] {
      // Acquire: the version is loaded before the value.
      const Lock& lock = lock_of(p);
      const uint64_t seen = lock.load(std::memory_order_acquire);
      if (seen <= start_) [[likely]] {  // not locked either, because that bit is the highest
        // Acquire, because write-back stores with release: if this load returns a new value, the
        // second load of the lock finds the stripe locked or newer.
        const T value = M::load_acquire(p);
        if (unchanged(lock, seen)) [[likely]] {
          note(lock);
          return value;
        }
      }
    }
    T value;
    load_piece(reinterpret_cast<std::byte*>(&value), p, sizeof(T));
    return value;
  }

  void load_range(void* to, const void* from, size_t n) {
    auto* out = static_cast<std::byte*>(to);
    for_each_stripe(data, from, n, [&](const std::byte* piece, size_t bytes) {
      load_piece(out, piece, bytes);
      out += bytes;
    });
  }

  template <class T>
  void store(T* p, T value) {
    as_word(p, value, [&](uint64_t* word, uint64_t bits, uint64_t mask) { put(word, bits, mask); });
    stored_bytes += sizeof(T);
  }

  void store_range(void* to, const void* from, size_t n) {
    as_words(to, from, n,
             [&](uint64_t* word, uint64_t bits, uint64_t mask) { put(word, bits, mask); });
    stored_bytes += n;
  }

  void promote(const void* /*p*/, size_t /*n*/) {}  // validation covers all reads

  // ---- For the engine, between the body and the next attempt.

  /// Locks the stripes of the write set. Returns false at the first one that another transaction
  /// has; release_unchanged() then releases the others.
  bool lock_writes() {
    // No lock is taken that an exception would leave behind.
    held_.reserve(writes.size());
    newer_.reserve(writes.size());
    for (const WriteSet::Entry& e : writes.entries()) {
      Lock& lock = lock_of(e.word);
      // Relaxed: the compare-exchange repeats the load, and a thread sees its own store.
      uint64_t seen = lock.load(std::memory_order_relaxed);
      if (seen == mine_) {
        continue;
      }
      if ((seen & kLocked) != 0 || !lock.compare_exchange(seen, mine_)) {
        M::reach(Probe{"tl2.locked_by_other"});
        return false;
      }
      held_.push_back({&lock, seen});
      if (seen > start_) {
        M::reach(Probe{"tl2.newer_stripe"});
        newer_.push_back(&lock);
      }
    }
    return true;
  }

  /// Takes the time of this commit. A transaction that begins later sees the stripes locked.
  uint64_t take_time() { return clock_.now.fetch_add(1) + 1; }

  /// True if no stripe that was read had changed at `time`, the time that this commit has taken.
  bool still_valid(uint64_t time) const { return start_ == time - 1 || valid(); }

  /// Stores the write set in place. The stripes are locked.
  void write_back() {
    for (const WriteSet::Entry& e : writes.entries()) {
      write_back(e);
    }
  }
  /// Release: pairs with load(), see there.
  void write_back(const WriteSet::Entry& e) { M::store_release(e.word, value_of(e)); }

  /// Releases the stripes with a new version. Release: a reader of the version sees the data.
  void release(uint64_t version) {
    for (const Held& held : held_) {
      held.lock->store(version, std::memory_order_release);
    }
    held_.clear();
  }

  /// Releases the stripes with their old versions. Release: as above.
  void release_unchanged() {
    for (const Held& held : held_) {
      held.lock->store(held.version, std::memory_order_release);
    }
    held_.clear();
  }

 private:
  static constexpr uint64_t kLocked = uint64_t{1} << 63;

  struct Held {
    Lock* lock;
    uint64_t version;  ///< before the transaction locked it
  };

  Lock& lock_of(const void* p) const {
    return table_.of(static_cast<uint64_t>(static_cast<const std::byte*>(p) - data));
  }

  /// The word's value after the transaction. Its stripe is locked, so the bytes around a short
  /// store do not change meanwhile.
  static uint64_t value_of(const WriteSet::Entry& e) {
    return e.whole() ? e.value : e.over(M::load(e.word));
  }

  /// The bit of a word in the filter of stored words: the paper's Bloom filter.
  static uint64_t bit_of(const void* p) {
    const auto word = reinterpret_cast<uintptr_t>(p) / sizeof(uint64_t);
    return uint64_t{1} << (word * 0x9e3779b97f4a7c15 >> 58);
  }

  /// The second load of the lock. Relaxed: the acquire load of the value keeps it behind that.
  bool unchanged(const Lock& lock, uint64_t seen) const {
    return lock.load(std::memory_order_relaxed) == seen ||
           machine_.skips(Site{"tl2.read.second_look"});
  }

  void note(const Lock& lock) {
    if (mode == Mode::update) {  // a read-only transaction has nothing to validate
      reads_.push_back(&lock);
    }
  }

  /// Loads [from, from + n), which lies in one stripe, with the transaction's own stores.
  void load_piece(std::byte* to, const void* from, size_t n) {
    const Lock& lock = lock_of(from);
    // Acquire: the version is loaded before the values.
    const uint64_t seen = lock.load(std::memory_order_acquire);
    if (!doomed) {
      const bool locked = (seen & kLocked) != 0;
      if (locked ? !machine_.skips(Site{"tl2.read.locked"})
                 : seen > start_ && !machine_.skips(Site{"tl2.read.version"})) {
        doom();
      }
    }
    // Acquire, each load: the second load of the lock stays behind them.
    for_each_word(from, n, [&](const uint64_t* word, size_t shift, size_t bytes, uint64_t) {
      const WriteSet::Entry* const own = writes.empty() ? nullptr : writes.find(word);
      const uint64_t before = M::load_acquire(word);
      const uint64_t value = own != nullptr ? own->over(before) : before;
      std::memcpy(to, reinterpret_cast<const std::byte*>(&value) + shift, bytes);
      to += bytes;
    });
    if (doomed) {
      return;
    }
    if (!unchanged(lock, seen)) {
      doom();
    }
    note(lock);
  }

  void put(uint64_t* word, uint64_t bits, uint64_t mask) {
    if (!doomed) {
      writes.put(word, bits, mask);
      filter_ |= bit_of(word);
    }
  }

  /// True if all stripes read are still as old as the snapshot. A stripe that this transaction has
  /// locked since was as old if it is not among the newer ones.
  bool valid() const {
    if (machine_.skips(Site{"tl2.validate"})) {
      return true;
    }
    return std::all_of(reads_.begin(), reads_.end(), [&](const Lock* lock) {
      // Acquire: later loads of data come after this check.
      const uint64_t seen = lock->load(std::memory_order_acquire);
      if (seen == mine_) {
        return machine_.skips(Site{"tl2.validate.own"}) ||
               std::find(newer_.begin(), newer_.end(), lock) == newer_.end();
      }
      return seen <= start_;
    });
  }

  M& machine_;
  OwnershipTable<M> table_;
  VersionClock<M>& clock_;
  const uint64_t mine_;
  uint64_t start_ = 0;   // the snapshot is the state at this time
  uint64_t filter_ = 0;  // a bit for each word stored
  std::vector<const Lock*, BodyAllocator<const Lock*, M>> reads_;
  std::vector<Held> held_;
  std::vector<const Lock*> newer_;  // of those held, the ones that were newer than the snapshot
};

}  // namespace holdfast
