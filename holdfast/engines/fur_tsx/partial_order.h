// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/frame/logged_durability.h"

namespace holdfast {

/// FUR's way to durability without its numbers, which would have to be taken outside of the
/// transaction (FUR 5): a commit marker in each thread's own log, written when the transactions
/// this one may have read from are durable. Those are the committed ones with a smaller time; who
/// still runs is not waited for.
template <class M>
class PartialOrder : public LoggedDurability<M> {
 public:
  using Base = LoggedDurability<M>;
  using Log = typename Base::Log;

  PartialOrder(M& machine, const Regions& regions, const PhtOptions& options, int max_threads,
               SlotStatistics<M>& statistics)
      : Base(machine, regions, options, max_threads, ReplayOrder::scan, statistics) {
    // Markers are not in the order of times, so a settled transaction says nothing about others.
    // The clock before the slots: who has not announced itself yet will be newer than that.
    this->replayer_.bound_by([this] { return this->slots_.none_before(this->time()); });
  }

  Status format() { return Base::format(kMagic); }
  Status recover(const char* engine, RecoveryReport& report) {
    return Base::recover(kMagic, engine, {}, report);  // whatever has its marker
  }

  /// Last thing in the hardware transaction, or under the lock: {NON_DURABLE, time}. Where all
  /// stores of a transaction are transactional this becomes visible with the data, elsewhere before
  /// it.
  void announce(int slot, uint64_t time) {
    if (!this->machine_.skips(Site{"furtsx.non_durable"})) {
      this->slots_.commit(slot, time);
    }
  }

  /// What a transaction at `time` has seen leaves the heap: those it may have read from have to be
  /// durable.
  void saw(int slot, uint64_t time) {
    M::phase(Phase::durability_wait);
    this->slots_.await_committed(slot, time, Site{"furtsx.read.durability_wait"});
  }

  /// From the hardware commit to the return. Returns the bytes written to persistent memory.
  uint64_t harden(Log& log, int slot, uint64_t time) {
    M& machine = this->machine_;
    const LinkedRecord record = log.record(time);
    M::phase(Phase::log_flush);
    log.write_back_payload(Site{"furtsx.log"});
    // The log is complete before the marker is *stored*: a stored line may reach the medium at any
    // time.
    machine.pfence(Site{"furtsx.log.fence"});
    M::phase(Phase::durability_wait);
    // So is everything it may have read, or replaced.
    this->slots_.await_committed(slot, time, Site{"furtsx.update.durability_wait"});
    M::phase(Phase::marker_flush);
    log.write_header(record, Site{"furtsx.marker"});
    machine.pfence(Site{"furtsx.marker.fence"});  // the marker is durable before others are told so
    log.advance();
    this->replayer_.logged(record);
    this->replayer_.settled(record);
    this->slots_.park(slot);
    return record.extent;
  }

 private:
  static constexpr uint64_t kMagic = 0x31676f6c78737466;  // "ftsxlog1"
};

}  // namespace holdfast
