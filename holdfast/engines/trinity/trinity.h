// SPDX-License-Identifier: Apache-2.0
//
// Trinity: Efficient Algorithms for Persistent Transactional Memory (Ramalhete, Correia, Felber,
// PPoPP 2021), over a software transactional memory with a lock per stripe.
//
// Idea      There are three copies of a word. Transactions work on the copy in volatile memory. One
//           line of persistent memory has `main` and `back`, with the number of the transaction
//           that stored main. Stores to one line persist in program order, so no fence is needed
//           between saving the old value and storing the new one.
// Area      header, base | marks, one per thread: the number of its last durable transaction |
//           records (parts/durability/records/record_table.h)
// Isolation TinySTM (parts/isolation/stm/lsa_thread.h), on the working copy.
// Commit    stripes owned; number := ++clock; validate; for every word's record, back := old,
//           number, main := new, pwb; pfence; thread's mark := number, pwb; psync; store in the
//           working copy; release the stripes.
// Recovery  If a record's number is above its thread's mark, the transaction was not durable, and
//           no other transaction has seen it: `back` goes home. Else `main` goes home.
// Persists  pwb of the records' lines and of the mark, 1 pfence and 1 psync per update; none per
//           read, because everything visible is durable. 2 more pfence whenever the records have
//           run out.
//
// Differences from the paper
//  - Words that transactions store to have records, in a table that is emptied into the home when
//    it is full. In the paper each word of the heap is a record, which takes memory for all words,
//    and no time to empty a table.
//  - Numbers come from the version clock, so that one word, `base`, tells which records are unused.
//    In the paper each thread counts for itself.
//  - Values are held back until the commit. The paper stores them in place from the first store on.
#pragma once

#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/durability/records/record_table.h"
#include "holdfast/engines/parts/isolation/combining/crwwp.h"
#include "holdfast/engines/parts/isolation/stm/lsa_engine.h"
#include "holdfast/engines/trinity/trinity_options.h"

namespace holdfast {

/// The engine; see Engine in engine.h for the contract.
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

  /// Throws Error for an invalid option.
  Trinity(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Base(machine, regions, LsaOptions::parse(options).value()),
        table_(machine, regions, trinity::area(options, max_threads).value(), kMagic,
               // One list per lock word, so that the owner of the word owns the list.
               Stripes(static_cast<int>(std::bit_width(this->lsa_options_.locks - 1))), kSlotBits),
        commits_(machine),
        emptying_(machine) {}

  Status format() { return table_.format(); }
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

  /// Lasts for one commit. The commit has all the records that it needs, and the table is not
  /// emptied before it is over.
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
  void before_answer(const Thread& /*t*/) {}  // everything visible is durable

  void enter(Thread& t);
  uint64_t look_up(Thread& t) const;
  void empty_table(int slot, uint64_t wanted);
  void write_records(Thread& t, uint64_t time);
  void mark_durable(int slot, uint64_t time);

  static uint64_t offset_of(const Thread& t, const WriteSet::Entry& e) {
    return static_cast<uint64_t>(reinterpret_cast<const std::byte*>(e.word) - t.data);
  }

  Table table_;
  Crwwp<M> commits_;  // commits are its readers; a thread that empties the table is its writer
  GlobalLock<M> emptying_;  // keeps those writers apart
};

/// The stripes are owned. Returns false, changing nothing, if the transaction is no longer valid.
template <class M>
bool Trinity<M>::commit(Thread& t) {
  M& machine = this->machine_;
  const Inside inside(*this, t);
  const uint64_t time = t.take_time();
  if (!t.still_valid(time)) {
    M::reach(Probe{"trinity.invalid"});
    return false;
  }
  M::phase(Phase::log_flush);
  write_records(t, time);
  const bool early = machine.skips(Site{"trinity.visible"});
  if (early) {
    t.write_back();
    t.release(time);
  }
  // All records are durable before the mark makes one of them count.
  machine.pfence(Site{"trinity.record.fence"});
  mark_durable(t.slot, time);
  M::phase(Phase::commit);
  if (!early) {
    t.write_back();
    t.release(time);
  }
  return true;
}

/// Writes the old and the new value of each word, and writes the lines back. The caller fences.
template <class M>
void Trinity<M>::write_records(Thread& t, uint64_t time) {
  M& machine = this->machine_;
  const uint64_t number = time << kSlotBits | static_cast<uint64_t>(t.slot);
  for (WriteSet::Entry& e : t.writes.entries()) {
    const bool is_new = e.engine == Table::kNone;
    if (is_new) {
      e.engine = table_.claim(t.slot, offset_of(t, e));
    }
    // A chain of release stores: each keeps its predecessors before it. Until the number is stored,
    // the record keeps its meaning, or has none because its number is not above base.
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

/// Stores the thread's mark; the transaction is durable on return.
template <class M>
void Trinity<M>::mark_durable(int slot, uint64_t time) {
  M::phase(Phase::marker_flush);
  uint64_t* const mark = table_.mark(slot);
  M::store_release(mark, encode_tail(time));
  this->machine_.pwb(mark, Site{"trinity.number"});
  // The mark is durable before other transactions see the values, and before the caller returns.
  this->machine_.psync(Site{"trinity.number.sync"});
  this->statistics_.at(slot).bytes_written += sizeof(uint64_t);
}

/// Begins a commit and takes the records that it needs. Throws Error if the transaction has more
/// words than there are records, and bad_alloc; then no commit has begun.
template <class M>
void Trinity<M>::enter(Thread& t) {
  for (;;) {
    while (!commits_.enter(t.slot)) {
      // Threads that empty the table have overtaken this one four times. Try again.
      M::reach(Probe{"trinity.overtaken"});
    }
    try {
      table_.reserve(t.slot, t.writes.size());
    } catch (...) {
      commits_.leave(t.slot);
      throw;
    }
    if (table_.take(t.slot, look_up(t))) {
      return;
    }
    commits_.leave(t.slot);
    M::reach(Probe{"trinity.table_full"});
    if (t.writes.size() > table_.size()) {
      M::reach(Probe{"trinity.too_large"});
      throw too_few_records(t.writes.size(), table_.size());
    }
    empty_table(t.slot, t.writes.size());
  }
}

/// Finds the record of each word; returns the number of words without one. The stripes are owned.
template <class M>
uint64_t Trinity<M>::look_up(Thread& t) const {
  uint64_t missing = 0;
  for (WriteSet::Entry& e : t.writes.entries()) {
    e.engine = table_.find(offset_of(t, e));
    missing += e.engine == Table::kNone ? 1 : 0;
  }
  return missing;
}

/// Empties the table and takes `wanted` records for `slot`. If another thread has emptied the table
/// meanwhile, so that there are enough, only takes the records.
template <class M>
void Trinity<M>::empty_table(int slot, uint64_t wanted) {
  emptying_.acquire();
  commits_.exclude();
  if (wanted == 0 || !table_.take(slot, wanted)) {
    // No commit is in progress. So every number up to the clock's belongs to a commit that is over
    // or has failed.
    const uint64_t bytes = table_.empty(this->clock_->now.load());
    this->statistics_.at(slot).bytes_written += bytes;
    table_.take(slot, wanted);
  } else {
    M::reach(Probe{"trinity.emptied_by_other"});
  }
  commits_.admit();
  emptying_.release();
}

template <class M>
Status Trinity<M>::recover(RecoveryReport& report) {
  std::vector<typename Table::RecoveredRecord> found;
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
