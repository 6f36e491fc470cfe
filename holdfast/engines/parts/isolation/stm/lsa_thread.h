// SPDX-License-Identifier: Apache-2.0
//
// One thread's transaction under the lazy snapshot algorithm (Riegel, Felber, Fetzer, DISC 2006) as
// TinySTM has it: stripes carry versions, a transaction sees the state at a time of the version
// clock and may move that time forward while what it has read stays as it was; stripes are owned
// from the first store on, values are kept apart until commit.
//
//   lock word   the version of the stripe, or kOwned | slot
//
// Opacity: every value returned was current at time `end`, so also transactions that will abort
// only ever see the state of one moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "holdfast/engines/parts/basics/ownership_table.h"
#include "holdfast/engines/parts/basics/write_set.h"
#include "holdfast/engines/parts/isolation/stm/software_transaction.h"

namespace holdfast {

template <class M>
class alignas(2 * kLineBytes) LsaThread : public SoftwareContext {
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

  /// `keeps_reads`: only then can the snapshot be extended, and the transaction store.
  void begin(Mode new_mode, bool keeps_reads) {
    prepare_context(new_mode);
    keeps_reads_ = keeps_reads;
    newest_ = 0;
    reads_.clear();
    writes.clear();
    // Acquire: whoever took a time up to this one owned its stripes before, and is seen to, or to
    // have released them.
    end_ = clock_.now.load(std::memory_order_acquire);
  }

  /// The newest version this transaction has loaded.
  uint64_t newest() const { return newest_; }

  template <class T>
  T load(const T* p) {
    const Lock& lock = lock_of(p);
    const uint64_t seen = lock.load(std::memory_order_acquire);
    if (seen <= end_) [[likely]] {  // so not owned either: that bit is the highest
      // Acquire, and written back with release: who sees a new value also sees, at its second look,
      // that the stripe was owned.
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

  void promote(const void* /*p*/, size_t /*n*/) {}  // what is read is validated

  // ---- for the engine, between the body and the next attempt

  /// The time of this commit. Everybody who takes a later one sees the stripes owned.
  uint64_t take_time() { return clock_.now.fetch_add(1) + 1; }

  /// Whether what was read is still what it was, at the time this commit takes.
  bool still_valid(uint64_t time) const { return end_ == time - 1 || valid(); }

  /// Stores everything in place. The stripes are owned.
  void write_back() {
    for (const WriteSet::Entry& e : writes.entries()) {
      M::store_release(e.word, value_of(e));
    }
  }

  /// What the word will hold. Its stripe is owned: the bytes around a short store stay as they are.
  static uint64_t value_of(const WriteSet::Entry& e) {
    return e.whole() ? e.value : e.over(M::load(e.word));
  }

  /// Gives the stripes up with a new version. Release: whoever sees it sees the data.
  void release(uint64_t version) {
    for (const Held& held : held_) {
      held.lock->store(version, std::memory_order_release);
    }
    held_.clear();
  }

  /// Gives the stripes up as they were.
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
    uint64_t version;  ///< before
  };

  Lock& lock_of(const void* p) const {
    return table_.of(static_cast<uint64_t>(static_cast<const std::byte*>(p) - data));
  }

  /// The second look. Relaxed: the acquiring load of the value keeps it behind.
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

  static void copy_out(std::byte* to, const void* from, size_t n) {
    for_each_word(from, n, [&](const uint64_t* word, size_t shift, size_t bytes, uint64_t) {
      const uint64_t value = M::load_acquire(word);
      std::memcpy(to, reinterpret_cast<const std::byte*>(&value) + shift, bytes);
      to += bytes;
    });
  }

  /// [from, from + n) lies in one stripe, which is owned, too new, or was changing a moment ago.
  [[gnu::noinline]] void load_slowly(void* to, const void* from, size_t n) {
    auto* const out = static_cast<std::byte*>(to);
    const Lock& lock = lock_of(from);
    for (;;) {
      if (doomed) {
        copy_out(out, from, n);
        return;
      }
      const uint64_t seen = lock.load(std::memory_order_acquire);
      if (seen == mine_) {
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

  /// From a stripe that is owned by this transaction.
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
    // Relaxed: that it is owned by this thread is something only this thread does.
    if (lock.load(std::memory_order_relaxed) != mine_ && !own(lock)) {
      return;
    }
    writes.put(word, bits, mask);
  }

  /// Owns the stripe, of a version within the snapshot. False: doomed already.
  bool own(Lock& lock) {
    if (doomed) {
      return false;
    }
    for (;;) {
      uint64_t seen = lock.load(std::memory_order_acquire);
      if ((seen & kOwned) != 0) {
        doom();
      }
      // Newer than the snapshot: other words of the stripe could be loaded from now on without a
      // look at its version.
      if (seen > end_ && !extend()) {
        doom();
      }
      if (lock.compare_exchange(seen, mine_)) {
        held_.push_back({&lock, seen});
        return true;
      }
    }
  }

  /// Moves the snapshot to now, if nothing that was read has changed since.
  bool extend() {
    if (machine_.skips(Site{"lsa.extend"})) {
      return true;
    }
    const uint64_t now = clock_.now.load(std::memory_order_acquire);  // before the looks
    if (!keeps_reads_ || !valid()) {
      return false;
    }
    end_ = now;
    return true;
  }

  /// A stripe that is owned by this transaction has the version it was read with: own() lets no
  /// version in that is newer than the snapshot, and all read ones are the newest within it.
  bool valid() const {
    if (machine_.skips(Site{"lsa.validate"})) {
      return true;
    }
    for (const Read& read : reads_) {
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
  std::vector<Read> reads_;
  std::vector<Held> held_;
};

}  // namespace holdfast
