// SPDX-License-Identifier: Apache-2.0
//
// Trinity: Efficient Algorithms for Persistent Transactional Memory (Ramalhete, Correia, Felber,
// PPoPP 2021), over a software transactional memory with a lock per stripe.
//
// Idea      Three copies of a word: one in volatile memory, which transactions work on, and in one
//           line of persistent memory `main` and `back`, with the number of the transaction that
//           stored main. Stores to one line persist in program order, so no fence is needed between
//           saving the old value and storing the new one.
// Area      header, base | a line per thread: the number of its last durable transaction | records
//           (common/record_table.h)
// Isolation TinySTM's (common/lsa_thread.h), on the working copy.
// Commit    stripes owned; number := ++clock; validate; every word's record back := old, number,
//           main := new, pwb; pfence; thread's line := number, pwb; psync; store in the working
//           copy; give the stripes up.
// Recovery  records whose number is above that of their thread's line go back to `back`: such a
//           transaction was not durable, and nobody has seen it.
// Persists  lines of records + 1 pwb, 1 pfence and 1 psync per update; none per read: what is
//           visible is durable. 2 pfence more whenever the records have run out.
//
// Differences from the paper
//  - Words that transactions store have records, in a table that is emptied into the home when it
//    is full. The paper's are the words themselves, everywhere: memory for all, time for none.
//  - Numbers come from the version clock, so that one word, `base`, tells which records are empty.
//    The paper's threads count for themselves.
//  - Values are held back until the commit, not stored in place from the first store on.
#pragma once

#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/durability/records/record_table.h"
#include "holdfast/engines/parts/isolation/combining/crwwp.h"
#include "holdfast/engines/parts/isolation/stm/lsa_engine.h"
#include "holdfast/engines/trinity/trinity_options.h"

namespace holdfast {

template <class M>
class Trinity : public LsaEngine<M, Trinity<M>> {
  using Base = LsaEngine<M, Trinity<M>>;
  using Table = RecordTable<M>;

 public:
  using typename Base::Thread;
  static constexpr Description kDescription = {
      .name = "trinity",
      .title = "Trinity: old and new value in one line, over software transactions",
      .paper = "Trinity and Quadra (PPoPP 2021)",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::working_copy,
      .needs_htm = false,
      .plain_reads = true,
      .log = "none: records with the old value",
      .fences = "2",
      .options = trinity::kOptions,
      .option_count = sizeof(trinity::kOptions) / sizeof(trinity::kOptions[0]),
      .area_bytes = &trinity::area_bytes,
  };

  /// Throws Error for options that make no sense.
  Trinity(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Base(machine, regions, LsaOptions::parse(options).value()),
        table_(machine, regions, trinity::area(options, max_threads).value(), kMagic,
               // A list for each lock word, which guards it.
               Stripes(static_cast<int>(std::bit_width(this->lsa_options_.locks - 1))), kSlotBits),
        commits_(machine),
        emptying_(machine) {}

  Status format() { return table_.format(); }
  void grown(size_t bytes) { table_.grown(bytes); }
  Status recover(RecoveryReport& report);
  Status close() {
    empty_table(0, 0);
    return {};
  }

 private:
  friend Base;
  static constexpr uint64_t kMagic = 0x3179'7469'6e69'7274;  // "trinity1"
  static constexpr int kSlotBits = 10;
  static_assert(kMaxThreads + 2 <= 1 << kSlotBits);

  /// A commit that has all the records it needs, which are not emptied before it is over.
  class Inside {
   public:
    Inside(Trinity& engine, Thread& t) : engine_(engine), slot_(t.slot) { engine.enter(t); }
    ~Inside() { engine_.commits_.leave(slot_); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Trinity& engine_;
    int slot_;
  };

  bool commit(Thread& t);
  void before_answer(const Thread& /*t*/) {}  // whatever was visible is durable

  void enter(Thread& t);
  uint64_t look_up(Thread& t) const;
  void empty_table(int slot, uint64_t wanted);
  void write_records(Thread& t, uint64_t time);
  void mark_durable(int slot, uint64_t time);

  static uint64_t offset_of(const Thread& t, const WriteSet::Entry& e) {
    return static_cast<uint64_t>(reinterpret_cast<const std::byte*>(e.word) - t.data);
  }

  Table table_;
  Crwwp<M> commits_;        // commits are its readers, whoever empties the table is its writer
  GlobalLock<M> emptying_;  // of the writers
};

template <class M>
bool Trinity<M>::commit(Thread& t) {
  M& machine = this->machine_;
  const Inside inside(*this, t);
  const uint64_t time = t.take_time();
  if (!t.still_valid(time)) {
    return false;
  }
  M::phase(Phase::log_flush);
  write_records(t, time);
  const bool early = machine.skips(Site{"trinity.visible"});
  if (early) {
    t.write_back();
    t.release(time);
  }
  machine.pfence(
      Site{"trinity.record.fence"});  // all records are durable before one of them counts
  mark_durable(t.slot, time);
  M::phase(Phase::commit);
  if (!early) {
    t.write_back();
    t.release(time);
  }
  return true;
}

template <class M>
void Trinity<M>::write_records(Thread& t, uint64_t time) {
  M& machine = this->machine_;
  const uint64_t number = time << kSlotBits | static_cast<uint64_t>(t.slot);
  for (WriteSet::Entry& e : t.writes.entries()) {
    const bool is_new = e.engine == Table::kNone;
    if (is_new) {
      e.engine = table_.claim(t.slot, offset_of(t, e));
    }
    // A chain of release stores: each keeps its predecessors before it. Until the number is there
    // the record says what it said before, or nothing: then its number is not above base.
    if (!machine.skips(Site{"trinity.back"})) {
      M::store_release(table_.back(e.engine), M::load(e.word));
    }
    if (is_new) {
      M::store_release(table_.place(e.engine), RecordWords::place_of(offset_of(t, e), 0));
    }
    const bool late = machine.skips(Site{"trinity.order"});
    if (!late) {
      M::store_release(table_.number(e.engine), number);
    }
    M::store_release(table_.main(e.engine), Thread::value_of(e));
    if (late) {
      M::store_release(table_.number(e.engine), number);
    }
  }
  LineFilter filter;
  for (const WriteSet::Entry& e : t.writes.entries()) {
    if (filter.first(e.engine * RecordWords::kBytes / machine.line_bytes())) {
      machine.pwb(table_.main(e.engine), Site{"trinity.record"});
    }
  }
  this->statistics_.at(t.slot).bytes_written += t.writes.size() * RecordWords::kBytes;
}

template <class M>
void Trinity<M>::mark_durable(int slot, uint64_t time) {
  M::phase(Phase::marker_flush);
  uint64_t* const mark = table_.mark(slot);
  M::store_release(mark, encode_tail(time));
  this->machine_.pwb(mark, Site{"trinity.number"});
  this->machine_.psync(Site{"trinity.number.sync"});  // durable before anybody sees the values
  this->statistics_.at(slot).bytes_written += sizeof(uint64_t);
}

/// Throws Error when there can never be as many records.
template <class M>
void Trinity<M>::enter(Thread& t) {
  for (;;) {
    while (!commits_.enter(t.slot)) {
      // Whoever empties the table is overtaking for the fourth time.
    }
    if (table_.take(t.slot, look_up(t))) {
      return;
    }
    commits_.leave(t.slot);
    if (t.writes.size() > table_.size()) {
      throw too_few_records(t.writes.size(), table_.size());
    }
    empty_table(t.slot, t.writes.size());
  }
}

/// How many words have no record. Who owns their stripes asks.
template <class M>
uint64_t Trinity<M>::look_up(Thread& t) const {
  uint64_t missing = 0;
  for (WriteSet::Entry& e : t.writes.entries()) {
    e.engine = table_.find(offset_of(t, e));
    missing += e.engine == Table::kNone ? 1 : 0;
  }
  return missing;
}

/// Unless another thread has, so that `slot` gets the records it wants.
template <class M>
void Trinity<M>::empty_table(int slot, uint64_t wanted) {
  emptying_.acquire();
  commits_.exclude();
  if (wanted == 0 || !table_.take(slot, wanted)) {
    // Every number up to the clock's is that of a commit that is over, or came to nothing.
    const uint64_t bytes = table_.empty(this->clock_->now.load());
    this->statistics_.at(slot).bytes_written += bytes;
    table_.take(slot, wanted);
  }
  commits_.admit();
  emptying_.release();
}

template <class M>
Status Trinity<M>::recover(RecoveryReport& report) {
  std::vector<typename Table::Found> found;
  uint64_t newest = 0;
  if (Status status = table_.scan(found, newest); !status.ok()) {
    return status;
  }
  std::vector<uint64_t> durable;
  for (int i = 0; i < table_.marks(); ++i) {
    const auto number = decode_tail(M::load(table_.mark(i)));
    if (!number) {
      return {Code::corrupt, "the number of the last transaction of thread slot " +
                                 std::to_string(i) + " is damaged; nothing was changed"};
    }
    durable.push_back(*number);
    newest = std::max(newest, *number);
  }
  const auto slot = [](const auto& one) {
    return static_cast<size_t>(one.words.number % (uint64_t{1} << kSlotBits));
  };
  for (const auto& one : found) {
    if (slot(one) >= durable.size() || one.words.tag() != 0) {
      return {Code::corrupt, "a record is of no thread there can have been; nothing was changed"};
    }
    newest = std::max(newest, one.transaction);
  }
  table_.settle(
      found, newest,
      [&](const auto& one) {
        return one.transaction <= durable[slot(one)] ||
               this->machine_.skips(Site{"trinity.recover.number"});
      },
      report);
  this->clock_->now.store(this->machine_.skips(Site{"trinity.recover.clock"}) ? 0 : newest);
  return {};
}

}  // namespace holdfast
