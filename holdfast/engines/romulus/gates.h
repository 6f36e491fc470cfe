// SPDX-License-Identifier: Apache-2.0
//
// The gate of RomulusLR. Romulus and RomulusLog use ExclusiveGate (Romulus 5.2), whose header
// explains gates.
#pragma once

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/isolation/combining/exclusive_gate.h"
#include "holdfast/engines/romulus/left_right.h"

namespace holdfast::romulus {

/// Readers use the copy that the writer is not changing, and never wait (Romulus 5.3).
template <class M>
class LeftRightGate {
 public:
  static constexpr bool kShiftsLoads = true;

  LeftRightGate(M& machine, const Regions& regions)
      : left_right_(machine), to_twin_(regions.twin - regions.data) {}

  bool enter(int slot, ptrdiff_t& shift) {
    shift = left_right_.enter(slot) == kTwin ? to_twin_ : 0;
    return true;
  }
  void leave(int slot) { left_right_.leave(slot); }

  void before_stores() {
    left_right_.direct(kTwin, Site{"leftright.to_twin"});
    left_right_.wait_for_stragglers(Site{"leftright.main.wait"});
  }
  void committed() { left_right_.direct(kMain, Site{"leftright.to_main"}); }
  void before_copy() { left_right_.wait_for_stragglers(Site{"leftright.twin.wait"}); }
  void finished() {}

 private:
  static constexpr uint64_t kMain = 0;
  static constexpr uint64_t kTwin = 1;

  LeftRight<M> left_right_;
  const ptrdiff_t to_twin_;
};

}  // namespace holdfast::romulus
