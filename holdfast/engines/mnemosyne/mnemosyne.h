// SPDX-License-Identifier: Apache-2.0
//
// Mnemosyne: Lightweight Persistent Memory (Volos, Tack, Swift, ASPLOS 2011).
//
// Idea      TinySTM's write-back transactions with a redo log per thread in persistent memory. The
//           log is written around the caches, and each commit truncates it.
// Area      header | a word per log: its commit record, or its head | one log per thread
// Isolation TinySTM (lsa_thread.h), on the persistent data itself; loads look into the write set
//           first.
// Commit    stripes owned; time := ++clock; validate;
//             block -> log; pfence; commit record; pfence          <- durable
//             store in place, pwb; pfence; remove the commit record, pwb; pfence; release the
//             stripes.
// Torn bits (option) the log is circular, and each of its words tells whether it was written:
//             block -> log; pfence                                 <- durable
//             store in place, pwb; pfence; move the head, pwb; release the stripes.
// Recovery  committed blocks, in the order of time -> data, pwb; pfence; truncate; pfence.
// Persists  4 pfence per update, with torn bits 2; none per read: visible data is durable.
//
// Differences from the paper
//  - A word takes two words of log, and neighbours share the first. Mnemosyne logs address, value
//    and mask. Blocks have checksums beyond the algorithm's need, so that damage is not replayed.
//  - Without torn bits a log is not circular: it holds one transaction at a time.
//  - There is no truncation by a helper thread: spec-pmt has that.
//  - The same transactions allocate memory, so that a crash leaks none.
#pragma once

#include <algorithm>
#include <variant>
#include <vector>

#include "holdfast/engines/mnemosyne/commit_record_log.h"
#include "holdfast/engines/mnemosyne/mnemosyne_options.h"
#include "holdfast/engines/mnemosyne/tornbit_log.h"
#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/durability/stamped/lsa_commit_block.h"
#include "holdfast/engines/parts/isolation/stm/lsa_engine.h"

namespace holdfast {

/// The engine; see LsaEngine for the frame and Engine in engine.h for the contract.
template <class M>
class Mnemosyne : public LsaEngine<M, Mnemosyne<M>> {
  using Base = LsaEngine<M, Mnemosyne<M>>;

 public:
  using typename Base::Thread;
  static constexpr Description kDescription = {
      .name = "mnemosyne",
      .title = "Mnemosyne: software transactions with a redo log per thread",
      .paper = "Mnemosyne (ASPLOS 2011), sections 4 and 5; Romulus (SPAA 2018), section 2",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = false,
      .plain_reads = true,
      .log = "redo, per thread",
      .fences = "4, or 2 with torn bits",
      .options = kMnemosyneOptions,
      .option_count = sizeof(kMnemosyneOptions) / sizeof(kMnemosyneOptions[0]),
      .area_bytes = &mnemosyne_area_bytes,
      .most_bytes = RedoRecord::kMostBytes,
  };

  /// Throws Error(invalid_argument) for an option that does not parse.
  Mnemosyne(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Mnemosyne(machine, regions, options, MnemosyneOptions::parse(options).value(),
                  max_threads) {}

  Status format();
  Status recover(RecoveryReport& report);
  Status close() {
    with_log([](auto& log) { log.finish(); });
    return {};
  }

 private:
  friend LsaEngine<M, Mnemosyne<M>>;
  using Logs = std::variant<mnemosyne::CommitRecordLog<M>, mnemosyne::TornbitLog<M>>;

  Mnemosyne(M& machine, const Regions& regions, const Options& options, const MnemosyneOptions& own,
            int max_threads)
      : Base(machine, regions, LsaOptions::parse(options).value()),
        regions_(regions),
        options_(own),
        area_(own.area(max_threads)),
        logs_(own.tornbit ? Logs(mnemosyne::TornbitLog<M>(machine, regions, area_))
                          : Logs(mnemosyne::CommitRecordLog<M>(machine, regions, area_))),
        blocks_(static_cast<size_t>(machine.slots())) {}

  template <class F>
  decltype(auto) with_log(F&& f) {
    return std::visit(f, logs_);
  }

  bool commit(Thread& t);
  void before_answer(const Thread& /*t*/) {}  // visible data is durable
  template <class Log>
  size_t persist(Thread& t, Log& log, const CommitBlock& block, uint64_t time);
  void write_home(Thread& t);
  Status check(const std::vector<mnemosyne::CommittedBlock>& found) const;

  Regions regions_;
  const MnemosyneOptions options_;
  const StampedLogsArea area_;
  Logs logs_;
  std::vector<CommitBlock> blocks_;  ///< one per slot, reused for their memory
};

template <class M>
bool Mnemosyne<M>::commit(Thread& t) {
  CommitBlock& block = blocks_[static_cast<size_t>(t.slot)];
  lay_out(block, t);
  const size_t capacity = with_log([](auto& log) { return log.capacity(); });
  if (block.bytes() > capacity) {
    M::reach(Probe{"mnemosyne.too_large"});
    throw log_too_small(capacity);
  }
  const uint64_t time = t.take_time();
  if (!t.still_valid(time)) {
    M::reach(Probe{"mnemosyne.invalid"});
    return false;
  }
  block.seal(time, mnemosyne::seed(t.slot));
  const size_t written = with_log([&](auto& log) { return persist(t, log, block, time); });
  t.release(time);
  this->statistics_.at(t.slot).bytes_written += written + 8 * t.writes.size();
  return true;
}

/// The steps that fences order. Returns the bytes written to the log.
template <class M>
template <class Log>
size_t Mnemosyne<M>::persist(Thread& t, Log& log, const CommitBlock& block, uint64_t time) {
  M& machine = this->machine_;
  const bool early = machine.skips(Site{"mnemosyne.order"});
  if (early) {
    t.write_back();
  }
  M::phase(Phase::log_flush);
  size_t written = log.append(t.slot, block, time);
  M::phase(Phase::commit);
  if (!early) {
    t.write_back();
  }
  M::phase(Phase::data_flush);
  write_home(t);
  log.before_truncation();
  // Separates the data from the truncation: the data is durable before it leaves the log.
  machine.pfence(Site{"mnemosyne.home.fence"});
  M::phase(Phase::marker_flush);
  if (!machine.skips(Site{"mnemosyne.retire"})) {
    written += log.truncate(t.slot);
  }
  return written;
}

/// Begins to write back the words stored in place.
template <class M>
void Mnemosyne<M>::write_home(Thread& t) {
  LineFilter filter;
  const uint64_t line = this->machine_.line_bytes();
  for (const WriteSet::Entry& e : t.writes.entries()) {
    const auto offset = static_cast<uint64_t>(reinterpret_cast<const std::byte*>(e.word) - t.data);
    if (filter.first(offset / line)) {
      this->machine_.pwb(e.word, Site{"mnemosyne.home"});
    }
  }
}

}  // namespace holdfast

#include "holdfast/engines/mnemosyne/mnemosyne_recover-inl.h"
