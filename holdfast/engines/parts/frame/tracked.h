// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/isolation/htm/subscribed_lock.h"

namespace holdfast {

/// Concurrency control by hardware alone. Every transaction, read-only or not, runs in a hardware
/// transaction that tracks loads and stores, and subscribes to the global lock. Opaque.
///
/// Thread safety: each function is called by the transaction's own thread, for all slots at once.
template <class M>
class TrackedTransactions {
 public:
  /// Passed to the hardware transaction's begin().
  static constexpr Tracking kTracking = Tracking::all;
  /// True if read-only transactions run in hardware transactions too.
  static constexpr bool kReadsInHardware = true;
  /// True if an update must read its time before the isolation wait, and a reader before its body.
  static constexpr bool kTimeBeforeWait = false;

  TrackedTransactions(M& machine, int /*slots*/) : machine_(machine), lock_(machine) {}

  /// True if the hardware can run these transactions. Otherwise all updates take the lock.
  static bool supported(const HtmCapabilities& can) {
    return std::strcmp(can.backend, "none") != 0;
  }

  /// Called before the hardware transaction begins. `lower` announces the update to transactions
  /// that will wait for its durability, or does nothing and returns false. `park` takes the
  /// announcement back.
  template <class Thread, class Lower, class Park>
  void enter(Thread& /*t*/, Lower&& lower, Park&& /*park*/) {
    lock_.await_free();  // the thread is parked here, else the holder would wait for it
    if (lower()) {
      // Separates the announcement from the reading of the time stamp: a transaction whose scan
      // misses the announcement has an older time.
      machine_.fence(Site{"pht.begin"});
    }
  }
  /// The first step in the hardware transaction. Throws HtmAbort.
  template <class Thread>
  void begin(Thread& t) {
    lock_.subscribe(*t.htm);
  }
  /// The last step before the hardware commit; waits if the isolation requires it.
  template <class Thread>
  void before_commit(Thread& /*t*/) {}
  /// Called when the transaction has ended, by commit or abort.
  void leave(int /*slot*/) {}

  /// Takes the lock and waits until no other transaction runs or commits.
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
