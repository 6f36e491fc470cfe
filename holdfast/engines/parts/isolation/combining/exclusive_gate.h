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
// kShiftsLoads says whether a shift is ever other than 0.
#pragma once

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/isolation/combining/crwwp.h"

namespace holdfast {

/// Readers use main, and wait while the writer changes it (Romulus 5.2).
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

}  // namespace holdfast
