// SPDX-License-Identifier: Apache-2.0
//
// How readers and the one writer keep out of each other's way. A gate has, for readers,
//   enter(slot, shift)   false: writers keep the reader out, it should have its body combined.
//                        shift: what to add to an address to get to the copy to read
//   leave(slot)
// and for the writer, in this order for each batch that stores,
//   before_stores()      nobody reads main any more
//   committed()          main is durable: may be shown
//   before_copy()        nobody reads the twin any more
//   finished()           both copies are equal
#pragma once

#include "holdfast/engines/common/crwwp.h"
#include "holdfast/engines/common/left_right.h"
#include "holdfast/engines/engine.h"

namespace holdfast::romulus {

/// Romulus and RomulusLog: readers use main, and wait while the writer changes it (Romulus 5.2).
template <class M>
class ExclusiveGate {
 public:
  static constexpr bool kShiftsLoads = false;

  ExclusiveGate(M& machine, const Regions& /*regions*/) : lock_(machine) {}

  bool enter(int slot, ptrdiff_t& /*shift*/) { return lock_.enter(slot); }
  void leave(int slot) { lock_.leave(slot); }

  void before_stores() { lock_.exclude(); }
  void committed() {}  // readers cannot look before finished()
  void before_copy() {}
  void finished() { lock_.admit(); }

 private:
  Crwwp<M> lock_;
};

/// RomulusLR: readers use whichever copy the writer is not changing, and never wait (Romulus 5.3).
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
