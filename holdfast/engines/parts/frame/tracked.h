// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/isolation/htm/subscribed_lock.h"

namespace holdfast {

/// Concurrency control by hardware alone: every transaction, read-only or not, runs in a hardware
/// transaction that tracks loads and stores, and subscribes to the global lock. Opaque.
template <class M>
class TrackedTransactions {
 public:
  static constexpr Tracking kTracking = Tracking::all;
  static constexpr bool kReadsInHardware = true;
  static constexpr bool kTimeBeforeWait = false;

  TrackedTransactions(M& machine, int /*slots*/) : machine_(machine), lock_(machine) {}

  static bool supported(const HtmCapabilities& can) {
    return std::strcmp(can.backend, "none") != 0;
  }

  /// Before the hardware transaction begins. `lower` announces it to those who wait for its
  /// durability, or does nothing and returns false.
  template <class Thread, class Lower, class Park>
  void enter(Thread& /*t*/, Lower&& lower, Park&& /*park*/) {
    lock_.await_free();  // a thread that waits here is parked: the holder waits for the others
    if (lower()) {
      // Announced before the time stamp is read: who does not see it has an older one.
      machine_.fence(Site{"pht.begin"});
    }
  }
  /// First thing in it. Throws HtmAbort.
  template <class Thread>
  void begin(Thread& t) {
    lock_.subscribe(*t.htm);
  }
  /// Last thing in it.
  template <class Thread>
  void before_commit(Thread& /*t*/) {}
  /// The transaction is over, one way or the other.
  void leave(int /*slot*/) {}

  template <class Thread>
  void lock(Thread& t) {
    lock_.acquire(*t.htm);
  }
  template <class Thread>
  void unlock(Thread& t) {
    lock_.release(*t.htm);
  }

 private:
  M& machine_;
  SubscribedLock<M> lock_;
};

}  // namespace holdfast
