// SPDX-License-Identifier: Apache-2.0
//
// TinySTM: dynamic performance tuning of word-based software transactional memory (Felber, Fetzer,
// Riegel, PPoPP 2008), over the lazy snapshot algorithm (Riegel, Felber, Fetzer, DISC 2006). Not
// durable: the baseline that shows the cost of durability in the engines built on it.
//
// Idea      Every stripe of 32 bytes has a version. A transaction sees the state at one time of a
//           global clock. When it meets a newer version, it validates the stripes it has read and
//           moves that time forward.
// Log       none
// Store     Own the stripe at the first store (encounter-time locking); keep the value in a write
//           set. A transaction that meets an owned stripe aborts, backs off and tries again.
// Commit    time := ++clock; validate, unless no other transaction has committed; store in place;
//           release the stripes with `time` as their version.
// Read-only No read set, hence no extension: a version newer than the snapshot causes another
//           attempt, from the third on with a read set.
// Recovery  none: the heap is in the state of its last clean close (volatile_home.h)
// Persists  nothing.
//
// Differences from upstream (1.0.x)
//  - Owning a stripe newer than the snapshot extends the snapshot at once. Upstream lets a
//    transaction read other words of that stripe together with older ones.
//  - Transactions that abort too often get the right of way instead of irrevocability.
#pragma once

#include "holdfast/engines/parts/basics/volatile_home.h"
#include "holdfast/engines/parts/isolation/stm/lsa_engine.h"

namespace holdfast {

/// The engine; see LsaEngine for the frame and Engine in engine.h for the contract.
template <class M>
class TinyStm : public LsaEngine<M, TinyStm<M>> {
  using Base = LsaEngine<M, TinyStm<M>>;

 public:
  using typename Base::Thread;
  static constexpr OptionInfo kOptions[] = {kLocksOption, kPatienceOption, kUntrackedReadsOption};
  static Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
    const auto parsed = LsaOptions::parse(options);
    return parsed ? Result<size_t>(VolatileHome<M>::kAreaBytes) : Result<size_t>(parsed.status());
  }
  static constexpr Description kDescription = {
      .name = "tinystm",
      .title = "TinySTM: software transactions without durability",
      .paper = "TinySTM (PPoPP 2008), section 3",
      .isolation = Isolation::opaque,
      .durability = Durability::none,
      .layout = Layout::working_copy,
      .needs_htm = false,
      .plain_reads = true,
      .log = "none",
      .fences = "0",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &area_bytes,
  };

  TinyStm(M& machine, const Regions& regions, const Options& options, int /*max_threads*/)
      : Base(machine, regions, LsaOptions::parse(options).value()), home_(machine, regions) {}

  Status format() { return home_.format(); }
  Status recover(RecoveryReport& report) {
    report.text = "nothing to recover: the engine keeps nothing over a crash";
    return home_.recover();
  }
  void grown(size_t bytes) { home_.grown(bytes); }
  Status close() { return home_.save(); }

 private:
  friend Base;

  bool commit(Thread& t) {
    const uint64_t time = t.take_time();
    if (!t.still_valid(time)) {
      return false;
    }
    t.write_back();
    t.release(time);
    return true;
  }
  void before_answer(const Thread& /*t*/) {}

  VolatileHome<M> home_;
};

}  // namespace holdfast
