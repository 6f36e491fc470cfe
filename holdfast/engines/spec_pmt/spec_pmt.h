// SPDX-License-Identifier: Apache-2.0
//
// SpecPMT: Speculative Logging for Resolving Crash Consistency Overhead of Persistent Memory (Ye,
// Xu, Shen, Liao, Jin, Solihin, ASPLOS 2023): its software logging over TinySTM, the combination
// that FUR (EuroSys 2026, section 4) compares itself with.
//
// Idea      Log the new values; one fence makes log and commit durable together. A commit does not
//           flush data lines: after a crash, the newest committed record of an address restores it.
// Area      header | tails | one circular log of commit blocks per thread (stamped_logs.h)
// Isolation TinySTM (lsa_thread.h), on the persistent data itself.
// Commit    stripes owned; time := ++clock; validate; block {checksum, records, end with time},
//           pwb; pfence; store in place; release the stripes.
// Recovery  blocks of all logs in the order of time -> data, pwb; pfence; tails; pfence.
// Reclaim   in the background, or in a thread that finds its log full: data lines of the oldest
//           blocks, pwb; pfence; tails, pwb; pfence.
// Persists  ceil(block / line) pwb and 1 pfence per update; none per read: visible data is durable.
//
// Differences from the paper
//  - Stores in place wait until the block is durable. SpecPMT stores first and logs right after. So
//    it must log the old value before the first store ever to an address, and for transactions that
//    abort. A write-back TM holds the values back anyway, which makes this redo logging with lazy
//    write-back. FUR's artefact does the same.
//  - FUR's artefact appends the block after the TM's commit, when the stripes have been released.
//    Others then read values that may be lost, and times may contradict the order of the commits.
//    Here the block is durable first. Read-only transactions take no times and do not log.
//  - Space is reclaimed in the order of time, with a time below which nothing is replayed. The
//    paper's collector keeps the newest record of each address.
#pragma once

#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/frame/logged_lsa_engine.h"

namespace holdfast {

/// The engine; see LoggedLsaEngine for the frame and Engine in engine.h for the contract.
template <class M>
class SpecPmt : public LoggedLsaEngine<M, SpecPmt<M>> {
  using Base = LoggedLsaEngine<M, SpecPmt<M>>;

 public:
  using typename Base::Thread;
  static constexpr Description kDescription = {
      .name = "spec-pmt",
      .title = "SpecPMT's logging over TinySTM: one fence per update",
      .paper = "SpecPMT (ASPLOS 2023), section 4; FUR (EuroSys 2026), section 4",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = false,
      .plain_reads = true,
      .log = "redo, per thread",
      .fences = "1",
      .options = kLoggedLsaOptions,
      .option_count = sizeof(kLoggedLsaOptions) / sizeof(kLoggedLsaOptions[0]),
      .area_bytes = &logged_lsa_area_bytes,
      .most_bytes = RedoRecord::kMostBytes,
  };

  /// Throws Error(invalid_argument) for an option that does not parse.
  SpecPmt(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Base(machine, regions, options, max_threads, kMagic, StampedLogs<M>::Gaps::skip) {}

 private:
  friend LsaEngine<M, SpecPmt<M>>;
  static constexpr uint64_t kMagic = 0x31676f6c63707368;  // "hspclog1"

  bool commit(Thread& t);
  void before_answer(const Thread& /*t*/) {}  // visible data is durable
};

template <class M>
bool SpecPmt<M>::commit(Thread& t) {
  M& machine = this->machine_;
  auto& logs = this->logs_;
  CommitBlock& block = this->lay_out(t);
  logs.announce(t.slot);
  const uint64_t time = t.take_time();
  if (!t.still_valid(time)) {
    M::reach(Probe{"specpmt.retracts"});
    logs.retract(t.slot);
    return false;
  }
  M::phase(Phase::log_flush);
  logs.write(t.slot, block, time, Site{"specpmt.record"});
  const bool early = machine.skips(Site{"specpmt.order"});
  if (early) {
    t.write_back();
  }
  // Separates the block from its values in place: the block is durable before a line of the data
  // may be written back, and before any other transaction reads the values.
  machine.pfence(Site{"specpmt.record.fence"});
  M::phase(Phase::commit);
  if (!early) {
    t.write_back();
  }
  logs.complete(t.slot, block);
  t.release(time);
  this->statistics_.at(t.slot).bytes_written += 8 * t.writes.size();
  return true;
}

}  // namespace holdfast
