// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/basics/volatile_home.h"
#include "holdfast/engines/parts/frame/pht_options.h"
#include "holdfast/engines/parts/isolation/htm/htm_access.h"

namespace holdfast {

/// No durability: logs nothing and never waits. Only a clean close saves the working copy. The
/// members are described at LoggedDurability.
template <class M>
class NoDurability {
  static_assert(VolatileHome<M>::kAreaBytes == kPageBytes);  // as volatile_pht_area_bytes() assumes

 public:
  struct Log {
    void begin() {}
    bool empty() const { return true; }
    bool full() const { return false; }
    void storing(HtmThread<M>&, const void*, size_t) {}
    void stored(HtmThread<M>&, const void*, size_t) {}
  };

  NoDurability(M& machine, const Regions& regions, const PhtOptions& /*options*/,
               int /*max_threads*/, SlotStatistics<M>& /*statistics*/)
      : home_(machine, regions), threads_(machine.slots()) {}

  int threads() const { return threads_; }
  Log log(int /*slot*/) { return {}; }

  Status format() { return home_.format(); }
  Status recover(const char* /*engine*/, RecoveryReport& report) {
    report.text = "the heap is in the state of its last clean close";
    return home_.recover();
  }
  Status close() { return home_.save(); }
  void grown(size_t bytes) { home_.grown(bytes); }

  void make_room(Log& /*log*/, bool /*whole_log*/) {}
  bool lower(int /*slot*/) { return false; }
  void park(int /*slot*/) {}
  uint64_t time() { return 0; }
  uint64_t harden(Log& /*log*/, int /*slot*/, uint64_t /*time*/) { return 0; }
  void saw(int /*slot*/, uint64_t /*time*/) {}
  void announce(int /*slot*/, uint64_t /*time*/) {}

 private:
  VolatileHome<M> home_;
  int threads_;
};

}  // namespace holdfast
