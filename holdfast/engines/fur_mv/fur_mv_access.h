// SPDX-License-Identifier: Apache-2.0
//
// A thread's transaction under FUR-MV, and the path from a Field's load or store to it.
#pragma once

#include <bit>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/fur_mv/versions.h"
#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/basics/run_body.h"
#include "holdfast/engines/parts/basics/write_set.h"
#include "holdfast/engines/parts/durability/replay/redo_log.h"

namespace holdfast {

/// One thread's transaction, and the memory it keeps between transactions.
template <class M>
struct alignas(kMaxLineBytes) FurMvThread : Context {
  using Stripe = typename VersionTable<M>::Stripe;
  /// A stripe that the transaction has locked, and its owner word of before.
  struct Locked {
    Stripe* stripe;
    uint64_t before;
  };

  FurMvThread(M& m, const VersionTable<M>& versions, const SnapshotPins<M>& pins,
              size_t version_chunk, const RedoLog<M>& redo_log, int own_slot)
      : machine(&m),
        table(&versions),
        store(m, pins, version_chunk),
        redo(redo_log),
        most_words(redo_log.size() / sizeof(uint64_t)),
        backoff(static_cast<uint64_t>(own_slot)) {
    slot = own_slot;
  }

  M* machine;
  const VersionTable<M>* table;
  VersionStore<M> store;
  RedoLog<M> redo;
  uint64_t most_words;  ///< that the redo log may have room for
  uint64_t snapshot = 0;
  uint64_t stored_bytes = 0;  ///< by the body
  WriteSet writes;
  std::vector<uint64_t> promoted;  ///< offsets
  std::vector<Locked> locked;
  std::vector<uint64_t> records;  ///< on the way to the redo log
  Loan loan;                      ///< for records that do not fit into the redo log
  // For an update that runs alone, and stores in place (FurMv::update_alone).
  bool alone = false;
  std::vector<const Version*> saved;          ///< in the order of the first stores
  std::vector<std::vector<uint64_t>> stored;  ///< a bit for each word, in blocks made when needed
  Backoff backoff;

  void prepare(Mode new_mode) {
    mode = new_mode;
    stored_bytes = 0;
    if (new_mode == Mode::update) {
      writes.clear();
      promoted.clear();
      locked.clear();
    }
  }

  /// Takes the memory that a commit of so many words in so many stripes needs, except for versions.
  /// Returns the exception if there is none.
  std::exception_ptr reserve(size_t words, size_t stripes) {
    try {
      locked.reserve(stripes + promoted.size());
      records.reserve(2 * words);  // each with a header
    } catch (const std::bad_alloc&) {
      return std::current_exception();
    }
    return {};
  }

  /// Frees the memory of an unusually large transaction. Small ones are faster with little.
  void release() {
    records = {};
    saved = {};
    stored = {};
  }

  /// Whether so many bytes of records do not fit into the redo log.
  bool needs_loan(uint64_t bytes) const { return bytes > redo.size(); }

  uint64_t offset_of(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - data);
  }

  /// Returns the snapshot's value of a T that lies within one word.
  template <class T>
  T read(const T* p) {
    const Stripe& stripe = table->of(offset_of(p));
    if (mode == Mode::update) {
      return alone ? M::load(p) : read_for_update(stripe, p);
    }
    // A reader's snapshot is durable, so all its values are in place. The holder of a locked stripe
    // comes after the snapshot, so there is nothing to wait for.
    // Acquire, both: the value is loaded before the owner, and the owner before the list
    // (versions.h).
    const T value = M::load_acquire(p);
    const uint64_t number = VersionTable<M>::number(stripe.owner.load(std::memory_order_acquire));
    return number <= snapshot ? value : older(stripe, number, p, value);
  }

  /// Notes a store to an aligned word, as WriteSet::put does. Throws LoanNeeded once the redo log
  /// cannot hold the words.
  void note(uint64_t* word, uint64_t value, uint64_t mask) {
    if (alone) [[unlikely]] {
      store_in_place(word, value, mask);
      return;
    }
    writes.put(word, value, mask);
    if (writes.size() > most_words) [[unlikely]] {
      refuse();
    }
  }

  /// Puts a version at the front of the list of a stripe that only this thread may change. `locked`
  /// is the lowest bit of the stripe's owner meanwhile.
  const Version* save(Stripe& stripe, uint64_t number, uint64_t word, uint64_t before,
                      uint64_t locked_bit) {
    // Relaxed loads: only this thread changes these words.
    const uint64_t last = VersionTable<M>::number(stripe.owner.load(std::memory_order_relaxed));
    Version* const version = store.take(number);
    M::store(&version->word, word);
    M::store(&version->before, before);
    M::store(&version->over, number);
    M::store(&version->next, stripe.head.load(std::memory_order_relaxed));
    M::store(&version->next_over, last);
    // Release, both: the version's content precedes the head, and the head precedes the number
    // (versions.h).
    stripe.head.store(reinterpret_cast<uintptr_t>(version), std::memory_order_release);
    if (last != number) {
      stripe.owner.store(number << 1 | locked_bit, std::memory_order_release);
    }
    return version;
  }

 private:
  /// The store of an update that runs alone.
  void store_in_place(uint64_t* word, uint64_t value, uint64_t mask) {
    const uint64_t before = M::load(word);
    must_succeed(*this, [&] {
      if (is_first(offset_of(word) / sizeof(uint64_t))) {
        saved.push_back(save(table->of(offset_of(word)), snapshot,
                             reinterpret_cast<uintptr_t>(word), before, 0));
      }
    });
    // Release: the word follows the number in its stripe's owner (versions.h).
    M::store_release(word, (before & ~mask) | value);
  }

  /// Notes a store to the word with this index. Returns true the first time.
  bool is_first(uint64_t index) {
    constexpr uint64_t kBlock = 2048;  // of 64 words each, so of 1 MiB of data
    const uint64_t block = index / 64 / kBlock;
    if (block >= stored.size()) {
      stored.resize(block + 1);
    }
    if (stored[block].empty()) {
      stored[block].resize(kBlock);
    }
    uint64_t& bits = stored[block][index / 64 % kBlock];
    const uint64_t before = bits;
    bits |= uint64_t{1} << index % 64;
    return bits != before;
  }

  /// Ends the attempt, even if the body swallows the exception.
  [[noreturn, gnu::noinline]] void refuse() {
    const LoanNeeded need{2 * redo.size()};
    nested_failure = std::make_exception_ptr(need);
    throw LoanNeeded(need);
  }

  /// An update's snapshot is the newest one, whose values may not be in place yet.
  template <class T>
  T read_for_update(const Stripe& stripe, const T* p) {
    for (;;) {
      // Acquire: the owner is loaded before the value.
      const uint64_t owner = stripe.owner.load(std::memory_order_acquire);
      if (VersionTable<M>::locked(owner) && !machine->skips(Site{"furmv.update.locked"})) {
        // A committer, whose number may belong to the snapshot. Until it unlocks, it waits only for
        // other committers' locks, in the table's order.
        machine->wait_while(stripe.owner, owner);
        continue;
      }
      // Acquire: the value is loaded before the owner's second load. An unchanged owner proves that
      // no transaction overwrote the stripe in between.
      const T value = M::load_acquire(p);
      if (stripe.owner.load(std::memory_order_acquire) != owner) {
        continue;
      }
      const uint64_t number = VersionTable<M>::number(owner);
      return number <= snapshot ? value : older(stripe, number, p, value);
    }
  }

  template <class T>
  [[gnu::noinline]] T older(const Stripe& stripe, uint64_t number, const T* p, T value) const {
    if (machine->skips(Site{"furmv.older"})) {
      return value;
    }
    const auto address = reinterpret_cast<uintptr_t>(p);
    const size_t shift = address % sizeof(uint64_t);
    uint64_t word = 0;
    std::memcpy(reinterpret_cast<std::byte*>(&word) + shift, &value, sizeof(T));
    word = VersionTable<M>::at(stripe, number, reinterpret_cast<const void*>(address - shift), word,
                               snapshot);
    std::memcpy(&value, reinterpret_cast<const std::byte*>(&word) + shift, sizeof(T));
    return value;
  }
};

/// The static functions of the engine. The transaction in M::context() may belong to another heap,
/// or even to another engine; covers() needs only the common part of it.
template <class M>
class FurMvAccess {
 public:
  using Thread = FurMvThread<M>;

  template <class T>
  static T load(const T* p) {
    auto* const context = static_cast<Context*>(M::context());
    // The first byte decides: no object lies partly inside a heap.
    if (context == nullptr || !context->covers(p, 1)) [[unlikely]] {
      return M::load(p);
    }
    auto* const t = static_cast<Thread*>(context);
    if (straddles(p, sizeof(T)) || (t->mode == Context::Mode::update && !t->writes.empty()))
        [[unlikely]] {
      T value;
      load_range(&value, p, sizeof(T));
      return value;
    }
    return t->read(p);
  }

  template <class T>
  static void store(T* p, T value) {
    Thread* const t = writing(p, sizeof(T));
    t->stored_bytes += sizeof(T);
    put(t, p, &value, sizeof(T));
  }

  static void load_range(void* to, const void* from, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (context == nullptr || !context->covers(from, n)) [[unlikely]] {
      M::copy(to, from, n);
      return;
    }
    auto* const t = static_cast<Thread*>(context);
    auto* out = static_cast<std::byte*>(to);
    const bool own = t->mode == Context::Mode::update && !t->writes.empty();
    for_each_word(from, n, [&](uint64_t* word, size_t shift, size_t bytes, uint64_t /*mask*/) {
      const WriteSet::Entry* const entry = own ? t->writes.find(word) : nullptr;
      uint64_t value = 0;
      if (entry == nullptr || !entry->whole()) {
        value = t->read(static_cast<const uint64_t*>(word));
      }
      if (entry != nullptr) {
        value = entry->over(value);
      }
      std::memcpy(out, reinterpret_cast<const std::byte*>(&value) + shift, bytes);
      out += bytes;
    });
  }

  static void store_range(void* to, const void* from, size_t n) {
    Thread* const t = writing(to, n);
    t->stored_bytes += n;
    put(t, to, from, n);
  }

  /// Makes [p, p + n) part of the transaction's write set for conflict detection. Another
  /// transaction that stores there comes entirely before or after this one.
  static void promote(const void* p, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (n == 0 || context == nullptr || context->mode != Context::Mode::update ||
        !context->covers(p, n)) {
      return;
    }
    auto* const t = static_cast<Thread*>(context);
    constexpr uint64_t kStripe = uint64_t{1} << Stripes::kStripeBits;
    const uint64_t first = t->offset_of(p);
    for (uint64_t at = first & ~(kStripe - 1); at < first + n; at += kStripe) {
      must_have_memory(*t, [&] { t->promoted.push_back(at); });
    }
  }

  static void fresh(const void* /*p*/, size_t /*n*/) {}  // older snapshots may still read it

 private:
  static bool straddles(const void* p, size_t n) {
    return reinterpret_cast<uintptr_t>(p) % sizeof(uint64_t) + n > sizeof(uint64_t);
  }

  static void put(Thread* t, void* to, const void* from, size_t n) {
    const auto* in = static_cast<const std::byte*>(from);
    for_each_word(to, n, [&](uint64_t* word, size_t shift, size_t bytes, uint64_t mask) {
      uint64_t value = 0;
      std::memcpy(reinterpret_cast<std::byte*>(&value) + shift, in, bytes);
      must_have_memory(*t, [&] { t->note(word, value, mask); });
      in += bytes;
    });
  }

  static Thread* writing(const void* p, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (context == nullptr || context->mode != Context::Mode::update || !context->covers(p, n))
        [[unlikely]] {
      throw_stray_store(context, p);
    }
    return static_cast<Thread*>(context);
  }
};

}  // namespace holdfast
