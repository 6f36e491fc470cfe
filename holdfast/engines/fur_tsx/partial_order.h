// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/frame/logged_durability.h"

namespace holdfast {

/// FUR's durability without its numbers, which would have to be taken outside of the transaction
/// (FUR 5). A transaction's commit marker stands in its thread's own log. It is written once all
/// transactions that this one may have read from are durable: the committed ones with a smaller
/// time. Transactions that are still running are not waited for. The members are described at
/// LoggedDurability.
template <class M>
class PartialOrder : public LoggedDurability<M> {
 public:
  using Base = LoggedDurability<M>;
  using Log = typename Base::Log;

  PartialOrder(M& machine, const Regions& regions, const PhtOptions& options, int max_threads,
               SlotStatistics<M>& statistics)
      : Base(machine, regions, options, max_threads, ReplayOrder::scan, statistics) {
    // Markers do not follow the order of times, so a settled transaction says nothing about others.
    // The bound reads the clock before the slots: a transaction that has not announced itself yet
    // will be newer.
    this->replayer_.bound_by([this] { return this->slots_.none_before(this->time()); });
  }

  Status format() { return Base::format(kMagic); }
  Status recover(const char* engine, RecoveryReport& report) {
    return Base::recover(kMagic, engine, {}, report);  // no bound: all that have their marker
  }

  /// Stores {NON_DURABLE, time}; the last step in the hardware transaction, or under the lock. It
  /// becomes visible with the data where all stores of a transaction are transactional, elsewhere
  /// before the data.
  void announce(int slot, uint64_t time) {
    if (!this->machine_.skips(Site{"furtsx.non_durable"})) {
      this->slots_.commit(slot, time);
    }
  }

  /// Waits until all transactions are durable from which a transaction at `time` may have read,
  /// before its result leaves the heap.
  void saw(int slot, uint64_t time) {
    M::phase(Phase::durability_wait);
    this->slots_.await_committed(slot, time, Site{"furtsx.read.durability_wait"});
  }

  /// The steps from the hardware commit to the return. Returns the bytes written to persistent
  /// memory.
  uint64_t harden(Log& log, int slot, uint64_t time) {
    M& machine = this->machine_;
    const LinkedRecord record = log.record(time);
    M::phase(Phase::log_flush);
    log.write_back_payload(Site{"furtsx.log"});
    // Separates the log from the marker: the log is durable before the marker is *stored*, because
    // a stored line may reach the medium at any time.
    machine.pfence(Site{"furtsx.log.fence"});
    M::phase(Phase::durability_wait);
    // Everything it may have read or replaced is durable as well.
    this->slots_.await_committed(slot, time, Site{"furtsx.update.durability_wait"});
    M::phase(Phase::marker_flush);
    log.write_header(record, Site{"furtsx.marker"});
    // Separates the marker from park(): it is durable before other threads take it to be.
    machine.pfence(Site{"furtsx.marker.fence"});
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
