// SPDX-License-Identifier: Apache-2.0
//
// OneFile PTM-LF: A Wait-free Persistent Transactional Memory (Ramalhete, Correia, Felber, Cohen,
// DSN 2019), its lock-free form. A thread that stops anywhere, for ever, keeps nobody from
// committing.
//
// Area      header, base | newest: {sequence, slot, entries, check} of the newest transaction | a
//           redo log per thread, {value, place} for each word
// Cells     {value, sequence} for each word of the data (onefile_cells.h), changed by
//           compare-exchange of both. The data get the values at close and recovery.
// Begin     finish the newest transaction if it is pending (entries != 0); start at its sequence.
// Load      the cell; abort if its sequence is above start.
// Commit    write the log, pwb; compare-exchange newest, from what start was: pending. Then finish:
//           pwb newest; every cell with a smaller sequence := {value, sequence}; pwb the cells;
//           compare-exchange newest, entries := 0: over.
// Help      copy the other's log; if newest is still the same, what was copied is whole: finish.
// Recovery  the log of newest, if it is pending and the log still its own -> cells; cells above
//           base -> data; pwb, pfence; base := newest, which is over; pwb, pfence.
// Persists  N stores in whole words: ceil(16 N / line) + 1 + lines of the cells pwb, and 2 + N
//           compare-exchanges, which are the fences where they order write-backs; 3 pfence where
//           they do not. Nothing per read-only transaction, unless it helps.
//
// Differences from the paper: docs/reference/engines/onefile.md.
#pragma once

#include <memory>

#include "holdfast/engines/onefile/onefile_options.h"
#include "holdfast/engines/onefile/onefile_thread.h"
#include "holdfast/engines/parts/basics/home_lines.h"
#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/basics/word_place.h"
#include "holdfast/engines/parts/isolation/stm/software_engine.h"

namespace holdfast {

template <class M>
class OneFile : public SoftwareEngine<M, OneFile<M>, onefile::Thread<M>, FreeForAll<M>> {
  using Base = SoftwareEngine<M, OneFile<M>, onefile::Thread<M>, FreeForAll<M>>;
  using Cells = onefile::Cells<M>;
  using Area = onefile::Area;

 public:
  using Thread = onefile::Thread<M>;
  static constexpr Description kDescription = {
      .name = "onefile",
      .title = "OneFile: lock-free, cells of value and sequence",
      .paper = "OneFile (DSN 2019), PTM-LF",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::cells,
      .needs_htm = false,
      .log = "redo, one per thread, which others may apply",
      .fences = "0 where an atomic orders write-backs, else 3",
      .options = onefile::kOptions,
      .option_count = sizeof(onefile::kOptions) / sizeof(onefile::kOptions[0]),
      .area_bytes = &onefile::area_bytes,
  };

  /// Throws Error for options that make no sense.
  OneFile(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Base(machine),
        regions_(regions),
        area_(onefile::area(options, max_threads).value()),
        cells_(regions),
        home_(machine) {
    for (int slot = 0; slot < machine.slots(); ++slot) {
      this->add_thread(std::make_unique<Thread>(machine, cells_, &newest()->first, slot), regions);
    }
  }

  Status format();
  void grown(size_t bytes) { regions_.bytes = bytes; }
  Status recover(RecoveryReport& report);
  Status settle();
  Status close() { return settle(); }

 private:
  friend Base;
  using Change = typename Thread::Change;

  /// What entries say of the transaction they are of. In 2^23 transactions it comes again; a log
  /// that recovery looks at has been overwritten by the next two at most.
  static uint64_t tag_of(uint64_t sequence) {
    return sequence % (uint64_t{1} << WordPlace::kTagBits);
  }
  static bool is_pending(const DoubleWord& newest) { return onefile::entries_of(newest) != 0; }

  DoubleWord* newest() const {
    return reinterpret_cast<DoubleWord*>(regions_.area + Area::kNewestOffset);
  }
  uint64_t* base() const { return reinterpret_cast<uint64_t*>(regions_.area + Area::kBaseOffset); }
  DoubleWord* log(uint64_t slot) const {
    return reinterpret_cast<DoubleWord*>(regions_.area + area_.log_offset(slot));
  }

  // ---- transactions
  void begin(Thread& t, Context::Mode mode, uint64_t aborts);
  bool commit(Thread& t);
  void before_answer(const Thread& /*t*/) {}  // what is older than a start is durable

  DoubleWord load_newest() const;
  DoubleWord finished_newest(Thread& t);
  void write_log(const Thread& t, uint64_t sequence);
  void help(Thread& t, const DoubleWord& pending);
  void finish(Thread& t, const DoubleWord& pending);
  void order_write_backs(Site site) {
    if (!this->machine_.rmw_orders_pwb()) {
      this->machine_.pfence(site);
    }
  }

  // ---- at rest: onefile_recover.h
  struct Found {
    DoubleWord newest;
    std::vector<Change> pending;  ///< of its log, if that is still its own
    std::vector<Change> above;    ///< values of cells above base
  };
  Status scan(Found& found) const;
  Status scan_log(Found& found) const;
  Status scan_cells(Found& found, uint64_t above) const;
  void bring_home(const Found& found);

  Regions regions_;
  const Area area_;
  const Cells cells_;
  HomeLines<M> home_;
};

/// Sees to it that what the transaction may see is durable.
template <class M>
void OneFile<M>::begin(Thread& t, Context::Mode mode, uint64_t /*aborts*/) {
  const DoubleWord newest = finished_newest(t);
  t.begin(mode, newest, onefile::sequence_of(newest));
}

/// The newest transaction, which is over. Each turn but the first follows on a commit of somebody.
template <class M>
DoubleWord OneFile<M>::finished_newest(Thread& t) {
  for (;;) {
    const DoubleWord newest = load_newest();
    if (!is_pending(newest) || this->machine_.skips(Site{"onefile.begin.help"})) {
      return newest;
    }
    help(t, newest);
  }
}

/// Both words of one instant, as far as it matters: of one transaction `second` changes once.
template <class M>
DoubleWord OneFile<M>::load_newest() const {
  for (;;) {
    const uint64_t first = M::load_acquire(&newest()->first);
    const uint64_t second = M::load_acquire(&newest()->second);
    if (M::load(&newest()->first) == first) {
      return {first, second};
    }
  }
}

template <class M>
bool OneFile<M>::commit(Thread& t) {
  M& machine = this->machine_;
  if (t.writes.size() > area_.entries()) {
    throw log_too_small(area_.log_bytes);
  }
  if (!t.collect()) {
    return false;
  }
  const uint64_t sequence = onefile::sequence_of(t.start) + 1;
  M::phase(Phase::log_flush);
  write_log(t, sequence);
  order_write_backs(Site{"onefile.log.fence"});  // whoever sees it pending may need the log
  M::phase(Phase::commit);
  const DoubleWord mine =
      onefile::newest_word(sequence, static_cast<uint64_t>(t.slot), t.changes.size());
  DoubleWord expected = t.start;
  if (machine.skips(Site{"onefile.commit.start"})) {
    expected = load_newest();
  }
  // Nobody has committed since the start: what was read is as it was.
  if (!compare_exchange(machine, newest(), expected, mine)) {
    return false;
  }
  finish(t, mine);
  return true;
}

/// Release stores, behind whatever let this thread know that the transaction whose entries it
/// overwrites was over: who copies a new one sees that, too. The place first, and so first on the
/// medium: with its tag it says that the entry is that transaction's no more.
template <class M>
void OneFile<M>::write_log(const Thread& t, uint64_t sequence) {
  DoubleWord* const entries = log(static_cast<uint64_t>(t.slot));
  DoubleWord* entry = entries;
  for (const Change& change : t.changes) {
    const uint64_t place = WordPlace::of(change.offset, tag_of(sequence));
    const bool late = this->machine_.skips(Site{"onefile.log.order"});
    if (!late) {
      M::store_release(&entry->second, place);
    }
    M::store_release(&entry->first, change.value);
    if (late) {
      M::store_release(&entry->second, place);
    }
    ++entry;
  }
  const size_t bytes = t.changes.size() * sizeof(DoubleWord);
  this->machine_.pwb_range(entries, bytes, Site{"onefile.log"});
  this->statistics_.at(t.slot).bytes_written += bytes;
}

/// Its owner overwrites the log only when the transaction is over. So if it is still pending after
/// the copy was made, all of the copy is its own.
template <class M>
void OneFile<M>::help(Thread& t, const DoubleWord& pending) {
  const PhaseScope<M> scope(Phase::data_flush);
  const DoubleWord* const entries = log(onefile::slot_of(pending));
  t.changes.clear();
  for (uint64_t i = 0; i < onefile::entries_of(pending); ++i) {
    const uint64_t value = M::load_acquire(&entries[i].first);
    const uint64_t place = M::load_acquire(&entries[i].second);
    t.changes.push_back({WordPlace::offset(place), value});
  }
  if (load_newest() == pending || this->machine_.skips(Site{"onefile.help.check"})) {
    finish(t, pending);
  }
}

/// Brings the pending transaction, whose changes t has, to its end. Any number of threads may be at
/// it, and each does all of it: who says that it is over has itself made it durable.
template <class M>
void OneFile<M>::finish(Thread& t, const DoubleWord& pending) {
  M& machine = this->machine_;
  const uint64_t sequence = onefile::sequence_of(pending);
  // Durable before a cell changes: recovery would not look at the log of a transaction that the
  // medium knows nothing of, and some of its values would be there.
  machine.pwb(newest(), Site{"onefile.newest"});
  order_write_backs(Site{"onefile.newest.fence"});
  M::phase(Phase::data_flush);
  for (const Change& change : t.changes) {
    cells_.store(machine, change.offset, change.value, sequence);
  }
  LineFilter filter;
  for (const Change& change : t.changes) {
    const DoubleWord* const cell = cells_.at(change.offset);
    if (filter.first(reinterpret_cast<uintptr_t>(cell) / machine.line_bytes())) {
      machine.pwb(cell, Site{"onefile.cell"});
    }
  }
  order_write_backs(Site{"onefile.cell.fence"});  // durable before the log may be overwritten,
                                                  // before anybody sees the values, or is answered
  DoubleWord expected = pending;
  compare_exchange(machine, newest(), expected, onefile::over(pending));
  this->statistics_.at(t.slot).bytes_written += t.changes.size() * sizeof(DoubleWord);
}

}  // namespace holdfast

#include "holdfast/engines/onefile/onefile_recover-inl.h"
