// SPDX-License-Identifier: Apache-2.0
//
// One thread's transaction under the lazy snapshot algorithm (Riegel, Felber, Fetzer, DISC 2006),
// as TinySTM implements it.
//
// Stripes carry versions. A transaction sees the state at one time of the version clock. It may
// move that time forward as long as the stripes it has read are unchanged. It owns a stripe from
// its first store there on, and keeps the stored values in its write set until commit.
//
//   lock word   the version of the stripe, or kOwned | slot
//
// Opacity: every value returned was current at time `end`. So a transaction that will abort also
// sees only the state of one moment.
#pragma once

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
class alignas(kMaxLineBytes) LsaThread : public SoftwareContext {
 public:
  using Lock = typename OwnershipTable<M>::Lock;

  LsaThread(M& machine, const OwnershipTable<M>& table, VersionClock<M>& clock, int own_slot)
      : backoff(static_cast<uint64_t>(own_slot)),
        machine_(machine),
        table_(table),
        clock_(clock),
        mine_(kOwned | static_cast<uint64_t>(own_slot)) {
    slot = own_slot;
  }

  Backoff backoff;
  WriteSet writes;

  /// Begins an attempt. Only with `keeps_reads` can it extend its snapshot, and store.
  void begin(Mode new_mode, bool keeps_reads) {
    prepare_context(new_mode);
    keeps_reads_ = keeps_reads;
    newest_ = 0;
    reads_.clear();
    writes.clear();
    // Acquire: a committer with a time up to this one had taken ownership of its stripes before.
    // This thread sees them owned, or released with the new version.
    end_ = clock_.now.load(std::memory_order_acquire);
  }

  /// The newest version among the stripes that this transaction has loaded from or owned.
  uint64_t newest() const { return newest_; }

  template <class T>
  T load(const T* p) {
    // Acquire: the version is loaded before the value.
    const Lock& lock = lock_of(p);
    const uint64_t seen = lock.load(std::memory_order_acquire);
    if (seen <= end_) [[likely]] {  // not owned either, because that bit is the highest
      // Acquire, because write-back stores with release: if this load returns a new value, the
      // second load of the lock finds the stripe owned or newer.
      const T value = M::load_acquire(p);
      if (unchanged(lock, seen)) [[likely]] {
        note(lock, seen);
        return value;
      }
    }
    T value;
    load_slowly(&value, p, sizeof(T));
    return value;
  }

  void load_range(void* to, const void* from, size_t n) {
    auto* out = static_cast<std::byte*>(to);
    for_each_stripe(data, from, n, [&](const std::byte* piece, size_t bytes) {
      const Lock& lock = lock_of(piece);
      // Acquire: the version is loaded before the values.
      const uint64_t seen = lock.load(std::memory_order_acquire);
      bool done = false;
      if (seen <= end_) [[likely]] {
        copy_out(out, piece, bytes);
        done = unchanged(lock, seen);
      }
      if (done) {
        note(lock, seen);
      } else {
        load_slowly(out, piece, bytes);
      }
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

  /// Takes the time of this commit. A transaction with a later snapshot sees the stripes owned.
  uint64_t take_time() { return clock_.now.fetch_add(1) + 1; }

  /// True if all stripes read are unchanged at `time`, the time that this commit has taken.
  bool still_valid(uint64_t time) const { return end_ == time - 1 || valid(); }

  /// Stores the write set in place. The stripes are owned. Release: pairs with load(), see there.
  void write_back() {
    for (const WriteSet::Entry& e : writes.entries()) {
      M::store_release(e.word, value_of(e));
    }
  }

  /// The word's value after the transaction. Its stripe is owned, so the bytes around a short store
  /// do not change meanwhile.
  static uint64_t value_of(const WriteSet::Entry& e) {
    return e.whole() ? e.value : e.over(M::load(e.word));
  }

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
  static constexpr uint64_t kOwned = uint64_t{1} << 63;

  struct Read {
    const Lock* lock;
    uint64_t version;
  };
  struct Held {
    Lock* lock;
    uint64_t version;  ///< before the transaction owned it
  };

  Lock& lock_of(const void* p) const {
    return table_.of(static_cast<uint64_t>(static_cast<const std::byte*>(p) - data));
  }

  /// The second load of the lock. Relaxed: the acquire load of the value keeps it behind that.
  bool unchanged(const Lock& lock, uint64_t seen) const {
    return lock.load(std::memory_order_relaxed) == seen ||
           machine_.skips(Site{"lsa.read.second_look"});
  }

  void note(const Lock& lock, uint64_t version) {
    newest_ = version > newest_ ? version : newest_;
    if (keeps_reads_) {
      reads_.push_back({&lock, version});
    }
  }

  /// Acquire, each load: the second load of the lock stays behind them.
  static void copy_out(std::byte* to, const void* from, size_t n) {
    for_each_word(from, n, [&](const uint64_t* word, size_t shift, size_t bytes, uint64_t) {
      const uint64_t value = M::load_acquire(word);
      std::memcpy(to, reinterpret_cast<const std::byte*>(&value) + shift, bytes);
      to += bytes;
    });
  }

  /// Loads [from, from + n), which lies in one stripe that is owned, too new, or has just changed.
  [[gnu::noinline]] void load_slowly(void* to, const void* from, size_t n) {
    auto* const out = static_cast<std::byte*>(to);
    const Lock& lock = lock_of(from);
    for (;;) {
      if (doomed) {
        copy_out(out, from, n);
        return;
      }
      // Acquire: the version is loaded before the values.
      const uint64_t seen = lock.load(std::memory_order_acquire);
      if (seen == mine_) {
        M::reach(Probe{"lsa.reads_own_stripe"});
        copy_own(out, from, n);
        return;
      }
      if ((seen & kOwned) != 0 && !machine_.skips(Site{"lsa.read.owned"})) {
        doom();
      }
      if (seen > end_ && !extend()) {
        doom();
      }
      copy_out(out, from, n);
      if (unchanged(lock, seen)) {
        note(lock, seen);
        return;
      }
    }
  }

  /// Loads from a stripe that this transaction owns.
  void copy_own(std::byte* to, const void* from, size_t n) {
    for_each_word(from, n, [&](uint64_t* word, size_t shift, size_t bytes, uint64_t) {
      const WriteSet::Entry* const entry = writes.find(word);
      const uint64_t value = entry != nullptr ? value_of(*entry) : M::load(word);
      std::memcpy(to, reinterpret_cast<const std::byte*>(&value) + shift, bytes);
      to += bytes;
    });
  }

  void put(uint64_t* word, uint64_t bits, uint64_t mask) {
    Lock& lock = lock_of(word);
    // Relaxed: only this thread stores `mine_` there, and it sees its own store.
    if (lock.load(std::memory_order_relaxed) != mine_ && !own(lock)) {
      return;
    }
    writes.put(word, bits, mask);
  }

  /// Takes ownership of the stripe, whose version must be within the snapshot. Returns false if the
  /// transaction is doomed already.
  bool own(Lock& lock) {
    if (doomed) {
      return false;
    }
    for (;;) {
      // No order is relied on: the compare-exchange below repeats the load.
      uint64_t seen = lock.load(std::memory_order_acquire);
      if ((seen & kOwned) != 0) {
        doom();
      }
      // The version is newer than the snapshot. Once the stripe is owned, its other words are
      // loaded without a check of the version, so the snapshot must include it.
      if (seen > end_ && !extend()) {
        doom();
      }
      held_.push_back({&lock, seen});  // before taking the stripe, since this can throw
      if (lock.compare_exchange(seen, mine_)) {
        newest_ = seen > newest_ ? seen : newest_;  // copy_own() loads its other words
        return true;
      }
      held_.pop_back();
    }
  }

  /// Moves the snapshot to the current time. Returns false if a stripe that was read has changed.
  bool extend() {
    if (machine_.skips(Site{"lsa.extend"})) {
      return true;
    }
    // Acquire, and before valid(): the loads of the locks come after it, as in begin().
    const uint64_t now = clock_.now.load(std::memory_order_acquire);
    if (!keeps_reads_ || !valid()) {
      M::reach(Probe{"lsa.cannot_extend"});
      return false;
    }
    M::reach(Probe{"lsa.extends"});
    end_ = now;
    return true;
  }

  /// True if all stripes read still have their versions. For a stripe that this transaction owns
  /// that holds by itself: own() admits no version newer than the snapshot, and the version read is
  /// the newest within it.
  bool valid() const {
    if (machine_.skips(Site{"lsa.validate"})) {
      return true;
    }
    for (const Read& read : reads_) {
      // Acquire: later loads of data come after this check.
      const uint64_t seen = read.lock->load(std::memory_order_acquire);
      if (seen != read.version && seen != mine_) {
        return false;
      }
    }
    return true;
  }

  M& machine_;
  OwnershipTable<M> table_;
  VersionClock<M>& clock_;
  const uint64_t mine_;
  bool keeps_reads_ = false;
  uint64_t end_ = 0;  // the snapshot is the state at this time
  uint64_t newest_ = 0;
  std::vector<Read, BodyAllocator<Read, M>> reads_;
  std::vector<Held> held_;
};

}  // namespace holdfast
