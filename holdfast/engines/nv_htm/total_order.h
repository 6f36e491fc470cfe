// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/frame/logged_durability.h"

namespace holdfast {

/// NV-HTM's way to durability (nv_htm.h): a commit marker in each thread's own log, written when
/// those of all older transactions are durable.
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
    return Base::recover(kMagic, engine, {}, report);  // whatever has its marker
  }

  /// From the hardware commit to the return. Returns the bytes written to persistent memory.
  uint64_t harden(Log& log, int slot, uint64_t time) {
    M& machine = this->machine_;
    this->slots_.commit(slot, time);
    const LinkedRecord record = log.record(time);
    M::phase(Phase::log_flush);
    log.write_back_payload(Site{"nv.log"});
    // The log is complete before the marker is *stored*: a stored line may reach the medium at any
    // time.
    machine.pfence(Site{"nv.log.fence"});
    M::phase(Phase::durability_wait);
    // So is everything older.
    this->slots_.await_durable(slot, time, true, Site{"nv.update.durability_wait"});
    M::phase(Phase::marker_flush);
    log.write_header(record, Site{"nv.marker"});
    machine.pfence(Site{"nv.marker.fence"});  // the marker is durable before others are told so
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
