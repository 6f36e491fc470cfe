// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/frame/logged_durability.h"

namespace holdfast {

/// NV-HTM's durability (nv_htm.h): each thread's own log has the transactions' commit markers. A
/// marker is written once the markers of all older transactions are durable. The members are
/// described at LoggedDurability.
template <class M>
class TotalOrder : public LoggedDurability<M> {
 public:
  using Base = LoggedDurability<M>;
  using Log = typename Base::Log;

  TotalOrder(M& machine, const Regions& regions, const PhtOptions& options, int max_threads,
             SlotStatistics<M>& statistics)
      : Base(machine, regions, options, max_threads, ReplayOrder::scan, statistics) {}

  Status format() { return Base::format(kMagic); }
  Status recover(const char* engine, RecoveryReport& report) {
    return Base::recover(kMagic, engine, {}, report);  // no bound: all that have their marker
  }

  /// The steps from the hardware commit to the return. Returns the bytes written to persistent
  /// memory.
  uint64_t harden(Log& log, int slot, uint64_t time) {
    M& machine = this->machine_;
    this->slots_.commit(slot, time);
    const LinkedRecord record = log.record(time);
    M::phase(Phase::log_flush);
    log.write_back_payload(Site{"nv.log"});
    // Separates the log from the marker: the log is durable before the marker is *stored*, because
    // a stored line may reach the medium at any time.
    machine.pfence(Site{"nv.log.fence"});
    M::phase(Phase::durability_wait);
    // All older transactions are durable as well.
    this->slots_.await_durable(slot, time, true, Site{"nv.update.durability_wait"});
    M::phase(Phase::marker_flush);
    log.write_header(record, Site{"nv.marker"});
    // Separates the marker from park(): it is durable before other threads take it to be.
    machine.pfence(Site{"nv.marker.fence"});
    log.advance();
    this->replayer_.logged(record);
    this->replayer_.settled(record);
    this->slots_.park(slot);
    return record.extent;
  }

 private:
  static constexpr uint64_t kMagic = 0x31676f6c6d74766e;  // "nvtmlog1"
};

}  // namespace holdfast
