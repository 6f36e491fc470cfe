// SPDX-License-Identifier: Apache-2.0
//
// PTL2: TL2 with undo logs, as cc-HTM (Giles, Doshi, Varman, ISMM 2017, section 5) builds it to
// compare itself with.
//
// Idea      While a commit holds the locks of its stripes, it saves the old value of each word
//           durably, changes the word in place, and forgets the old values once all new ones are
//           durable. Then it releases the locks.
// Area      header | an undo log per thread: a line with the epoch, then the entries (undo_log.h)
// Entry     {offset, 8, check} and the old word: half a line, written around the caches
// Isolation TL2 (tl2_thread.h), on the persistent data itself.
// Commit    lock the stripes; time := ++clock; validate; per word: entry, pfence, store; pwb the
//           changed lines, pfence; epoch + 1, pwb, psync; release the stripes with `time`.
// Batched   With option batch, all entries come first, with one pfence for all.
// Recovery  Each log by itself, because the locks kept the words of unfinished updates apart:
//           entries of the current epoch -> data, pwb, pfence. Then epoch + 1 in all logs, pwb;
//           psync.
// Persists  n + 1 pfence and 1 psync per update of n words; batched 2 pfence and 1 psync; none per
//           read: visible data is durable.
//
// Differences from the paper
//  - The paper does not say how a log is invalidated or read back. Entries carry a checksum over
//    the epoch, so one word invalidates all of them, and recovery needs no count.
//  - Recovery begins a new epoch in every log, also in an empty one. A crash may leave a torn
//    entry, which the torn entry of the next crash could complete; meanwhile another thread's
//    update may have changed the word.
#pragma once

#include <memory>
#include <vector>

#include "holdfast/engines/parts/basics/home_lines.h"
#include "holdfast/engines/parts/durability/undo/undo_log.h"
#include "holdfast/engines/parts/isolation/stm/tl2_engine.h"
#include "holdfast/engines/ptl2/ptl2_options.h"

namespace holdfast {
namespace ptl2 {

/// Appends entries around the caches.
template <class M>
class WordEntries {
 public:
  static constexpr size_t kUnit = 4 * sizeof(uint64_t);

  WordEntries(M& machine, const Options& options)
      : machine_(machine), batch_(Area::parse(options, 1).value().batch) {}

  void append(std::byte* to, const std::byte* from, size_t n) {
    machine_.store_nontemporal(to, from, n, Site{"ptl2.entry"});
    if (!batch_) {
      // The old word is durable in the log before the word changes.
      machine_.pfence(Site{"ptl2.entry.fence"});
    }
  }
  bool ordered() const { return !batch_; }
  static constexpr bool counted() { return false; }
  void count(uint64_t* /*word*/, uint64_t /*value*/) {}

 private:
  M& machine_;
  const bool batch_;
};

}  // namespace ptl2

/// The engine; see Tl2Engine for the frame and Engine in engine.h for the contract.
template <class M>
class Ptl2 : public Tl2Engine<M, Ptl2<M>> {
  using Base = Tl2Engine<M, Ptl2<M>>;

 public:
  using typename Base::Thread;
  static constexpr Description kDescription = {
      .name = "ptl2",
      .title = "TL2 with an undo log per thread",
      .paper = "cc-HTM (ISMM 2017), section 5: PTL2",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = false,
      .plain_reads = true,
      .log = "undo, per thread",
      .fences = "2 + one per word; batched 3",
      .options = ptl2::kOptions,
      .option_count = sizeof(ptl2::kOptions) / sizeof(ptl2::kOptions[0]),
      .area_bytes = &ptl2::area_bytes,
  };

  /// Throws Error(invalid_argument) for an option that does not parse.
  Ptl2(M& machine, const Regions& regions, const Options& options, int slots)
      : Base(machine, regions, options),
        regions_(regions),
        area_(ptl2::Area::parse(options, slots).value()) {
    for (int slot = 0; slot < area_.slots; ++slot) {
      Regions part = regions;
      part.area = regions.area + kPageBytes + static_cast<size_t>(slot) * area_.log_bytes;
      part.area_bytes = area_.log_bytes;
      logs_.push_back(std::make_unique<Log>(machine, part, options));
    }
  }

  Status format() {
    const AreaHeader header = area_.header();
    M::copy(regions_.area, header.data(), sizeof header);
    this->machine_.pwb_range(regions_.area, sizeof header, Site{"ptl2.format"});
    for (Own& log : logs_) {
      log->prepare();
    }
    // Header and empty logs are durable before the superblock makes the file a heap.
    this->machine_.psync(Site{"ptl2.format.sync"});
    return {};
  }

  Status recover(RecoveryReport& report) {
    AreaHeader header;
    M::copy(header.data(), regions_.area, sizeof header);
    if (header != area_.header()) {
      return foreign_area();
    }
    for (Own& log : logs_) {
      if (Status status = log->examine(report); !status.ok()) {
        return status;
      }
    }
    for (Own& log : logs_) {
      log->restore();
    }
    if (!this->machine_.skips(Site{"ptl2.recover.epoch"})) {
      for (Own& log : logs_) {
        log->empty();
      }
    }
    // The logs are empty before an update may change a word that one of them saves.
    this->machine_.psync(Site{"ptl2.recover.sync"});
    return {};
  }

  Status close() { return {}; }

 private:
  friend Base;
  using Log = UndoLog<M, ptl2::WordEntries<M>>;
  using Own = std::unique_ptr<Log>;

  bool commit(Thread& t);
  void save_and_store(Thread& t, Log& log);

  const Regions regions_;
  const ptl2::Area area_;
  std::vector<Own> logs_;  // by slot
};

template <class M>
bool Ptl2<M>::commit(Thread& t) {
  Log& log = *logs_[static_cast<size_t>(t.slot)];
  // All memory first: data that changed in place cannot be given up.
  log.reserve(t.writes.size(), sizeof(uint64_t));
  HomeLines<M> lines(this->machine_);
  for (const WriteSet::Entry& e : t.writes.entries()) {
    lines.add(static_cast<uint64_t>(reinterpret_cast<std::byte*>(e.word) - t.data));
  }
  if (!t.lock_writes()) {
    return false;
  }
  const uint64_t time = t.take_time();
  if (!t.still_valid(time)) {
    M::reach(Probe{"ptl2.invalid"});
    return false;
  }
  M& machine = this->machine_;
  save_and_store(t, log);
  M::phase(Phase::data_flush);
  lines.write_back(t.data, Site{"ptl2.data"});
  // The new values are durable before the log forgets the old ones.
  machine.pfence(Site{"ptl2.data.fence"});
  M::phase(Phase::marker_flush);
  const size_t logged = log.finish();
  // The log is empty on the medium before another update may change a word that it saves, and
  // before a reader sees the values.
  t.release(time);
  this->statistics_.at(t.slot).bytes_written += logged + sizeof(uint64_t) * t.writes.size();
  return true;
}

/// Saves the old value of each word, durably, before it stores the new one.
template <class M>
void Ptl2<M>::save_and_store(Thread& t, Log& log) {
  M::phase(Phase::log_flush);
  if (area_.batch) {
    for (const WriteSet::Entry& e : t.writes.entries()) {
      log.append(e.word, sizeof(uint64_t));
    }
    // All old words are durable in the log before one of the words changes.
    this->machine_.pfence(Site{"ptl2.batch.fence"});
    return t.write_back();
  }
  for (const WriteSet::Entry& e : t.writes.entries()) {
    log.append(e.word, sizeof(uint64_t));
    t.write_back(e);
  }
}

}  // namespace holdfast
