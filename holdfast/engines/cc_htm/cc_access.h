// SPDX-License-Identifier: Apache-2.0
//
// A thread's transaction, and the path from a Field's loads and stores through the alias table.
//
//   in hardware     load: the word's entry, or its home. Store: the word's entry, which may replace
//                   a retired one, and the write set.
//   under the lock  load: the write set, the entry, or the home. Store: the write set, which has no
//                   bound by sets: the paper's table has no place for a transaction that stores
//                   more words of one set than it has ways.
#pragma once

#include <cstring>

#include "holdfast/engines/cc_htm/alias_table.h"
#include "holdfast/engines/cc_htm/cc_log.h"
#include "holdfast/engines/parts/basics/run_body.h"
#include "holdfast/engines/parts/basics/write_set.h"
#include "holdfast/engines/parts/isolation/htm/htm_access.h"

namespace holdfast::cc_htm {

template <class M>
struct alignas(kMaxLineBytes) CcThread : HtmThread<M> {
  using Base = HtmThread<M>;
  using Mode = Context::Mode;
  using Path = typename Base::Path;

  CcThread(M& machine, const AliasTable<M>& table, int own_slot, size_t log_capacity)
      : Base(machine, own_slot), alias(table), log_bytes(log_capacity) {}

  const AliasTable<M>& alias;
  const size_t log_bytes;
  WriteSet writes;                 ///< in hardware: whole words
  std::vector<LoggedWord> logged;  ///< its memory is kept between transactions
  uint64_t id = 0;                 ///< of an update in hardware; 0: none
  typename CcLog<M>::Room room{};  ///< of its log, when the attempt began
  uint64_t min = 0;                ///< entries with a smaller number may be replaced
  uint64_t revoked = 0;            ///< times that this transaction was given up by others
  Commit commit = Commit::unsaid;

  void begin_attempt(Mode new_mode, Path new_path) {
    M::phase(Phase::execute);
    Base::begin(new_mode, new_path);
    writes.clear();
  }

  uint64_t offset_of(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - this->data);
  }

  /// The newest value of an aligned word, as this transaction sees it.
  uint64_t word(const uint64_t* at) const {
    const uint64_t place = AliasTable<M>::place_of(offset_of(at));
    if (this->path == Path::transaction) {
      const auto load = [this](const uint64_t* p) { return this->htm->load(p); };
      const auto* const entry = alias.find(place, load);
      return this->htm->load(entry != nullptr ? &entry->value : at);
    }
    const auto load = [this](const uint64_t* p) { return this->htm->outside_load(p); };
    const auto* const entry = alias.find(place, load);
    return this->htm->outside_load(entry != nullptr ? &entry->value : at);
  }

  void load_bytes(void* to, const void* from, size_t n) {
    auto* out = static_cast<std::byte*>(to);
    for_each_word(from, n, [&](const uint64_t* at, size_t shift, size_t bytes, uint64_t) {
      uint64_t value = word(at);
      if (this->path == Path::locked) {
        const WriteSet::Entry* const own = writes.find(at);
        value = own != nullptr ? own->over(value) : value;
      }
      std::memcpy(out, reinterpret_cast<const std::byte*>(&value) + shift, bytes);
      out += bytes;
    });
  }

  void put(uint64_t* at, uint64_t bits, uint64_t mask) {
    if (CcLog<M>::bytes_of(writes.size() + 1) > log_bytes && writes.find(at) == nullptr)
        [[unlikely]] {
      if (this->path == Path::transaction && this->htm->doomed()) {
        return;  // it will not commit, and its body may be in a destructor
      }
      M::reach(Probe{"cchtm.too_large"});
      this->leave_body(log_too_small(log_bytes));
    }
    if (this->path == Path::locked) {
      writes.put(at, bits, mask);
      return;
    }
    const auto load = [this](const uint64_t* p) { return this->htm->load(p); };
    const uint64_t place = AliasTable<M>::place_of(offset_of(at));
    auto* entry = alias.find(place, load);
    const uint64_t* const newest = entry != nullptr ? &entry->value : at;
    const uint64_t value = mask == ~uint64_t{0} ? bits : (load(newest) & ~mask) | bits;
    if (entry == nullptr) {
      entry = alias.victim(place, min, load);
      if (entry == nullptr) {
        if (!this->htm->doomed()) {
          M::reach(Probe{"cchtm.alias_full"});
          this->htm->abort(AbortCode::alias);
        }
        return;
      }
      this->htm->store(&entry->place, place);
    }
    this->htm->store(&entry->value, value);
    this->htm->store(&entry->id, id);
    writes.put(at, value, ~uint64_t{0});
  }
};

/// The static functions of the engine. The transaction in M::context() may belong to another heap,
/// or even to another engine; covers() needs only the common part of it.
template <class M>
class CcAccess {
 public:
  using Thread = CcThread<M>;

  template <class T>
  static T load(const T* p) {
    auto* const context = static_cast<Context*>(M::context());
    if (context == nullptr || !context->covers(p, 1)) [[unlikely]] {
      return M::load(p);
    }
    T value;
    must_have_memory(*context,
                     [&] { static_cast<Thread*>(context)->load_bytes(&value, p, sizeof(T)); });
    return value;
  }

  template <class T>
  static void store(T* p, T value) {
    Thread* const t = writing(p, sizeof(T));
    must_have_memory(*t, [&] {
      as_word(p, value,
              [&](uint64_t* at, uint64_t bits, uint64_t mask) { t->put(at, bits, mask); });
    });
    t->stored_bytes += sizeof(T);
  }

  static void load_range(void* to, const void* from, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (context == nullptr || !context->covers(from, n)) [[unlikely]] {
      M::copy(to, from, n);
      return;
    }
    must_have_memory(*context, [&] { static_cast<Thread*>(context)->load_bytes(to, from, n); });
  }

  static void store_range(void* to, const void* from, size_t n) {
    Thread* const t = writing(to, n);
    must_have_memory(*t, [&] {
      as_words(to, from, n,
               [&](uint64_t* at, uint64_t bits, uint64_t mask) { t->put(at, bits, mask); });
    });
    t->stored_bytes += n;
  }

  static void promote(const void* /*p*/, size_t /*n*/) {}  // all loads are tracked
  static void fresh(const void* /*p*/, size_t /*n*/) {}    // of no use to a redo log

 private:
  static Thread* writing(const void* p, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (context == nullptr || context->mode != Context::Mode::update || !context->covers(p, n))
        [[unlikely]] {
      throw_stray_store(context, p);
    }
    return static_cast<Thread*>(context);
  }
};

}  // namespace holdfast::cc_htm
