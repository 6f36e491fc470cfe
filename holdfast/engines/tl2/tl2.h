// SPDX-License-Identifier: Apache-2.0
//
// Transactional Locking II (Dice, Shalev, Shavit, DISC 2006). Not durable: ptl2 adds durability.
//
// Idea      Every stripe of 32 bytes has a version. A transaction sees the state at the time of the
//           global clock at which it began, and aborts when it meets a newer stripe. It locks
//           nothing before its commit.
// Log       none
// Store     Keep the value in a write set.
// Commit    lock the stripes of the write set, or abort; time := ++clock; validate the reads,
//           unless no other transaction has committed; store in place; release the stripes with
//           `time` as their version.
// Read-only No read set: each load checks the version, so there is nothing to validate.
// Recovery  none: the heap is in the state of its last clean close (volatile_home.h)
// Persists  nothing.
//
// Differences from the paper
//  - A transaction that finds a stripe locked aborts at once, and pauses before it tries again. The
//    paper's may spin for a while first.
//  - Transactions that abort too often get the right of way.
#pragma once

#include "holdfast/engines/parts/basics/volatile_home.h"
#include "holdfast/engines/parts/isolation/stm/tl2_engine.h"

namespace holdfast {

/// The engine; see Tl2Engine for the frame and Engine in engine.h for the contract.
template <class M>
class Tl2 : public Tl2Engine<M, Tl2<M>> {
  using Base = Tl2Engine<M, Tl2<M>>;

 public:
  using typename Base::Thread;
  static constexpr OptionInfo kOptions[] = {kLocksOption, kPatienceOption};
  static Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
    const auto locks = parse_locks(options);
    const auto patience = parse_patience(options);
    if (!locks || !patience) {
      return locks ? patience.status() : locks.status();
    }
    return VolatileHome<M>::kAreaBytes;
  }
  static constexpr Description kDescription = {
      .name = "tl2",
      .title = "Transactional Locking II, without durability",
      .paper = "TL2 (DISC 2006), section 2",
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

  Tl2(M& machine, const Regions& regions, const Options& options, int /*max_threads*/)
      : Base(machine, regions, options), home_(machine, regions) {}

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
    if (!t.lock_writes()) {
      return false;
    }
    const uint64_t time = t.take_time();
    if (!t.still_valid(time)) {
      return false;
    }
    t.write_back();
    t.release(time);
    return true;
  }

  VolatileHome<M> home_;
};

}  // namespace holdfast
