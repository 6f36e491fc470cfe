// SPDX-License-Identifier: Apache-2.0
//
// Gates: they keep readers and the one writer apart. A gate has, for readers,
//   enter(slot, shift)   returns false if writers keep the reader out; its body should then be
//                        combined. `shift` is added to an address to reach the copy to read.
//   leave(slot)
// and for the writer, in this order for each batch that stores,
//   before_stores()      waits until no reader uses main
//   committed()          main is durable and may be shown
//   before_copy()        waits until no reader uses the twin
//   finished()           both copies are equal
// kShiftsLoads is true if a shift can be other than 0.
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
  void committed() {}  // no reader enters before finished()
  void before_copy() {}
  void finished() { lock_.admit(); }

 private:
  Crwwp<M> lock_;
};

}  // namespace holdfast
