// SPDX-License-Identifier: Apache-2.0
//
// A thread's transaction under Crafty, and the path from a Field's loads and stores to it. In
// hardware that is htm_access.h, with an undo entry before the first store to a word. Under the
// lock, stores are held back until their undo entries are durable, a chunk at a time.
#pragma once

#include <cstring>

#include "holdfast/engines/crafty/undo_record.h"
#include "holdfast/engines/parts/basics/write_set.h"
#include "holdfast/engines/parts/isolation/htm/htm_access.h"

namespace holdfast {

/// One thread's transaction, and the memory it keeps between transactions.
template <class M>
struct alignas(kMaxLineBytes) CraftyThread : HtmThread<M> {
  using Base = HtmThread<M>;
  using Mode = Context::Mode;
  using Path = typename Base::Path;
  enum class Step : uint8_t {
    log,       ///< log the old values, in the order of the first stores
    validate,  ///< expect stores to the same words, over the same old values
  };

  CraftyThread(M& machine, const UndoRecord<M>& undo_record, int own_slot, uint64_t chunk_words)
      : Base(machine, own_slot), record(undo_record), machine_(machine), chunk_(chunk_words) {}

  UndoRecord<M> record;
  /// Words that have an undo entry: `value` before the transaction, `engine` after it.
  WriteSet words;
  uint64_t base = 0;      ///< the record's old values were current after this number
  bool mismatch = false;  ///< the body has deviated from the record

  void begin_log(Mode new_mode, Path new_path) {
    Base::begin(new_mode, new_path);
    step_ = Step::log;
    record.begin();
    words.clear();
    pending_.clear();
  }
  void begin_validate() {
    Base::begin(Mode::update, Path::transaction);
    step_ = Step::validate;
    matched_ = 0;
    mismatch = false;
  }
  /// True if the body has stored to every word of the record again.
  bool all_matched() const { return matched_ == words.size(); }

  uint64_t offset_of(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - this->data);
  }

  /// In hardware: called before n bytes at p are stored.
  void storing(const void* p, size_t n) {
    for_each_word(p, n, [&](uint64_t* word, size_t, size_t, uint64_t) {
      step_ == Step::log ? note(word) : compare(word);
    });
  }

  // ---- Under the lock.

  bool holds_back() const { return this->path == Path::locked && !pending_.empty(); }

  void store_locked(void* to, const void* from, size_t n) {
    this->stored_bytes += n;
    const auto* in = static_cast<const std::byte*>(from);
    for_each_word(to, n, [&](uint64_t* word, size_t shift, size_t bytes, uint64_t mask) {
      auto* const at = reinterpret_cast<std::byte*>(word) + shift;
      if (words.find(word) != nullptr) {  // its old value is in the log, durably
        this->htm->outside_store_range(at, in, bytes);
      } else {
        uint64_t bits = 0;
        std::memcpy(reinterpret_cast<std::byte*>(&bits) + shift, in, bytes);
        hold_back(word, bits, mask);
      }
      in += bytes;
    });
  }

  void load_locked(void* to, const void* from, size_t n) {
    auto* out = static_cast<std::byte*>(to);
    for_each_word(from, n, [&](uint64_t* word, size_t shift, size_t bytes, uint64_t) {
      const WriteSet::Entry* const held = pending_.find(word);
      uint64_t value = this->htm->outside_load(word);
      value = held != nullptr ? held->over(value) : value;
      std::memcpy(out, reinterpret_cast<const std::byte*>(&value) + shift, bytes);
      out += bytes;
    });
  }

  /// Logs the words that are held back, durably, and then stores them.
  void write_chunk() {
    if (pending_.empty()) {
      return;
    }
    log_chunk();
    for (const WriteSet::Entry& entry : pending_.entries()) {
      this->htm->outside_store(entry.word, entry.over(words.find(entry.word)->value));
    }
    pending_.clear();
  }

 private:
  void log_chunk() {
    const PhaseScope<M> scope(Phase::log_flush);
    for (const WriteSet::Entry& entry : pending_.entries()) {
      const uint64_t old = this->htm->outside_load(entry.word);
      words.put(entry.word, old, ~uint64_t{0});
      record.add(offset_of(entry.word), old);
      M::store(record.place(), offset_of(entry.word));
      M::store(record.place() + 1, old);
    }
    record.seal(base, Site{"crafty.lock.log"});
    // Separates the old values in the log from the stores in place.
    machine_.pfence(Site{"crafty.lock.log.fence"});
  }

  void note(uint64_t* word) {
    if (words.find(word) != nullptr) {
      return;
    }
    if (words.size() == record.capacity()) [[unlikely]] {
      if (this->htm->doomed()) {
        return;  // it will not commit, and its body may be in a destructor
      }
      this->leave_body(too_large());
    }
    const uint64_t old = this->htm->load(word);
    words.put(word, old, ~uint64_t{0});
    record.add(offset_of(word), old);
    // Stored inside the transaction, because hardware offers no other stores there. So the log
    // takes write capacity.
    this->htm->store(record.place(), offset_of(word));
    this->htm->store(record.place() + 1, old);
  }

  void compare(uint64_t* word) {
    const WriteSet::Entry* const known = words.find(word);
    const WriteSet::Entry* const next = words.entries().data() + matched_;
    if ((known != nullptr && known < next) || this->htm->doomed()) {
      return;
    }
    const bool same = known == next && (this->htm->load(word) == known->value ||
                                        machine_.skips(Site{"crafty.validate.old"}));
    if (!same) {
      mismatch = true;
      this->htm->abort(AbortCode::stale);
    }
    ++matched_;
  }

  void hold_back(uint64_t* word, uint64_t bits, uint64_t mask) {
    if (words.size() + pending_.size() == record.capacity() && pending_.find(word) == nullptr)
        [[unlikely]] {
      this->leave_body(too_large());
    }
    pending_.put(word, bits, mask);
    if (pending_.size() == chunk_) {
      M::reach(Probe{"crafty.lock.full_chunk"});
      write_chunk();
    }
  }

  Error too_large() const {
    M::reach(Probe{"crafty.too_large"});
    return log_too_small(record.capacity() * CraftyArea::kEntryBytes);
  }

  M& machine_;
  uint64_t chunk_;
  Step step_ = Step::log;
  size_t matched_ = 0;  // words of the record that the body has stored to again
  WriteSet pending_;    // under the lock: the stores held back
};

/// The static functions of the engine: HtmAccess, except for updates under the lock.
template <class M>
class CraftyAccess : public HtmAccess<CraftyThread<M>, Tracking::all> {
 public:
  using Thread = CraftyThread<M>;
  using Base = HtmAccess<Thread, Tracking::all>;

  template <class Value>
  static Value load(const Value* p) {
    if (Thread* const t = locked(p, 1); t != nullptr && t->holds_back()) [[unlikely]] {
      Value value;
      t->load_locked(&value, p, sizeof value);
      return value;
    }
    return Base::load(p);
  }

  template <class Value>
  static void store(Value* p, Value value) {
    if (Thread* const t = locked(p, sizeof value)) [[unlikely]] {
      must_have_memory(*t, [&] { t->store_locked(p, &value, sizeof value); });
    } else {
      Base::store(p, value);
    }
  }

  static void load_range(void* to, const void* from, size_t n) {
    if (Thread* const t = locked(from, n); t != nullptr && t->holds_back()) [[unlikely]] {
      t->load_locked(to, from, n);
    } else {
      Base::load_range(to, from, n);
    }
  }

  static void store_range(void* to, const void* from, size_t n) {
    if (Thread* const t = locked(to, n)) [[unlikely]] {
      must_have_memory(*t, [&] { t->store_locked(to, from, n); });
    } else {
      Base::store_range(to, from, n);
    }
  }

  /// Does nothing: every store is logged. The block may have been freed by a transaction that
  /// recovery will undo together with this one. Then its old content is needed again.
  static void fresh(const void* /*p*/, size_t /*n*/) {}

 private:
  /// The update under the lock whose heap has [p, p + n), or null.
  static Thread* locked(const void* p, size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (context == nullptr || context->mode != Context::Mode::update || !context->covers(p, n)) {
      return nullptr;
    }
    auto* const t = static_cast<Thread*>(context);
    return t->path == Thread::Path::locked ? t : nullptr;
  }
};

}  // namespace holdfast
