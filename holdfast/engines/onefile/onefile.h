// SPDX-License-Identifier: Apache-2.0
//
// OneFile PTM-LF: A Wait-free Persistent Transactional Memory (Ramalhete, Correia, Felber, Cohen,
// DSN 2019), its lock-free form.
//
// Idea      Every word has a cell {value, sequence}, which one compare-exchange changes. Any thread
//           can finish a transaction that is being made durable, from its redo log. So a thread
//           that stops forever, at any step, keeps no other thread from committing.
// Area      header, base | newest: {sequence, slot, entries, check} of the newest transaction | a
//           redo log per thread, {value, place} for each word
// Cells     lie beside the data (onefile_cells.h). The data get the values at close and recovery.
// Begin     finish the newest transaction if it is pending (entries != 0); start := its sequence
// Load      the cell; abort if its sequence is above start
// Commit    write the log, pwb; compare-exchange newest, from its value at the start: pending. Then
//           finish: pwb newest; every cell with a smaller sequence := {value, sequence}; pwb the
//           cells; compare-exchange newest, entries := 0: over.
// Help      copy the other thread's log; if newest is still the same, the copy is complete: finish
// Recovery  If newest is pending and its log still belongs to it: log -> cells. Cells above base ->
//           data; pwb, pfence; base := newest, which is over; pwb, pfence.
// Persists  For N stores to whole words: ceil(16 N / line) + 1 pwb, and one per line of cells; 2 +
//           N compare-exchanges. These are the fences if they order write-backs; otherwise 3
//           pfence. Nothing per read-only transaction, unless it helps.
//
// Differences from the paper
//  - Cells lie beside the data, not in their place, so structures need no code for cells.
//  - newest tells whether its transaction is over, and log entries carry their transaction's
//    sequence. The paper has a request per thread beside its log.
//  - Recovery applies the log before transactions run.
//  - The wait-free form is not implemented. More: docs/reference/engines/onefile.md.
#pragma once

#include <memory>

#include "holdfast/engines/onefile/onefile_options.h"
#include "holdfast/engines/onefile/onefile_thread.h"
#include "holdfast/engines/parts/basics/home_lines.h"
#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/basics/word_place.h"
#include "holdfast/engines/parts/isolation/stm/software_engine.h"

namespace holdfast {

/// The engine; see Engine in engine.h for the contract. All threads may update and read at once.
/// Progress is lock-free: if an attempt fails, another transaction has committed.
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

  /// Throws Error for an invalid option.
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
  /// settle() needs the size.
  void grown(size_t bytes) { regions_.bytes = bytes; }
  Status recover(RecoveryReport& report);
  Status settle();
  Status close() { return settle(); }

 private:
  friend Base;
  using Change = typename Thread::Change;

  /// The tag that a log entry carries for its transaction. It repeats after 2^23 transactions. That
  /// is enough: at most the next two transactions have overwritten a log that recovery looks at.
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
  void before_answer(const Thread& /*t*/) {}  // everything up to t.start is durable

  DoubleWord load_newest() const;
  DoubleWord finished_newest(Thread& t);
  void write_log(const Thread& t, uint64_t sequence);
  void help(Thread& t, const DoubleWord& pending);
  void finish(Thread& t, const DoubleWord& pending);
  /// Orders earlier write-backs before the next compare-exchange, unless that does so itself.
  void order_write_backs(Site site) {
    if (!this->machine_.rmw_orders_pwb()) {
      this->machine_.pfence(site);
    }
  }

  // ---- while no transaction runs: onefile_recover-inl.h
  struct ScanResult {
    DoubleWord newest;
    std::vector<Change> pending;  ///< entries of newest's log, if that still belongs to it
    std::vector<Change> above;    ///< values of cells above base
  };
  Status scan(ScanResult& found) const;
  Status scan_log(ScanResult& found) const;
  Status scan_cells(ScanResult& found, uint64_t above) const;
  void bring_home(const ScanResult& found);

  Regions regions_;
  const Area area_;
  const Cells cells_;
  HomeLines<M> home_;
};

/// Makes everything durable that the transaction may see, and starts it there.
template <class M>
void OneFile<M>::begin(Thread& t, Context::Mode mode, uint64_t /*aborts*/) {
  const DoubleWord newest = finished_newest(t);
  t.begin(mode, newest, onefile::sequence_of(newest));
}

/// Returns the newest transaction after making sure that it is over. The loop repeats only if
/// another transaction has committed meanwhile.
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

/// Returns a consistent pair: `second` changes once per transaction. Acquire: the loads keep their
/// order, and the log of a pending transaction is visible.
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

/// Returns false, changing nothing but the log, if another transaction has committed since the
/// start.
template <class M>
bool OneFile<M>::commit(Thread& t) {
  M& machine = this->machine_;
  if (t.writes.size() > area_.entries()) {
    M::reach(Probe{"onefile.too_large"});
    throw log_too_small(area_.log_bytes);
  }
  if (!t.collect()) {
    M::reach(Probe{"onefile.short_store_stale"});
    return false;
  }
  const uint64_t sequence = onefile::sequence_of(t.start) + 1;
  M::phase(Phase::log_flush);
  write_log(t, sequence);
  // The log is durable before newest is pending: recovery, or a helper, may need it from then on.
  order_write_backs(Site{"onefile.log.fence"});
  M::phase(Phase::commit);
  const DoubleWord mine =
      onefile::newest_word(sequence, static_cast<uint64_t>(t.slot), t.changes.size());
  DoubleWord expected = t.start;
  if (machine.skips(Site{"onefile.commit.start"})) {
    expected = load_newest();
  }
  // Succeeds if no transaction has committed since the start. Then all values read are unchanged.
  if (!compare_exchange(machine, newest(), expected, mine)) {
    M::reach(Probe{"onefile.overtaken"});
    return false;
  }
  finish(t, mine);
  return true;
}

/// Writes the log and writes it back. Release stores: they follow the load that showed this thread
/// that the transaction whose entries it overwrites is over. So a helper that copies a new entry
/// sees that as well.
///
/// The place is stored first, and so reaches the medium first. From then on its tag says that the
/// entry no longer belongs to the overwritten transaction.
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

/// Finishes another thread's pending transaction. The owner overwrites the log only when the
/// transaction is over. So if it is still pending after the copy, the copy is complete. Acquire:
/// the entries are loaded before newest is loaded again.
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
    M::reach(Probe{"onefile.helps"});
    finish(t, pending);
  } else {
    M::reach(Probe{"onefile.help_late"});
  }
}

/// Finishes the pending transaction; t has its changes. Any number of threads may do so at once,
/// and each does all of it. So the thread that declares the transaction over has made it durable
/// itself.
template <class M>
void OneFile<M>::finish(Thread& t, const DoubleWord& pending) {
  M& machine = this->machine_;
  const uint64_t sequence = onefile::sequence_of(pending);
  // newest is durable before a cell changes. Otherwise the medium could have some of the
  // transaction's values, while recovery does not know that it must look at its log.
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
  // The cells are durable before the transaction is over: before its log may be overwritten, other
  // transactions see the values, or the caller is answered.
  order_write_backs(Site{"onefile.cell.fence"});
  DoubleWord expected = pending;
  compare_exchange(machine, newest(), expected, onefile::over(pending));
  this->statistics_.at(t.slot).bytes_written += t.changes.size() * sizeof(DoubleWord);
}

}  // namespace holdfast

#include "holdfast/engines/onefile/onefile_recover-inl.h"
