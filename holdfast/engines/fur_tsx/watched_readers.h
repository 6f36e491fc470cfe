// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/isolation/htm/commit_states.h"
#include "holdfast/engines/parts/isolation/htm/subscribed_lock.h"

namespace holdfast {

/// FUR's concurrency control for hardware that can suspend the tracking of loads, and nothing else
/// (FUR 5). Updates are ordinary hardware transactions that subscribe to the lock. Read-only
/// transactions run outside and announce themselves. Before it commits, an update stops tracking
/// loads and waits until every reader that is ACTIVE has left. A reader that becomes ACTIVE later
/// conflicts with its write set. Opaque. The members are described at TrackedTransactions.
template <class M>
class WatchedReaders {
 public:
  static constexpr Tracking kTracking = Tracking::all;
  static constexpr bool kReadsInHardware = false;
  /// The time is read before the isolation wait. An update reads its clock before it scans for
  /// readers, and a reader reads its clock after its announcement. So a reader that the update has
  /// not waited for has a later time.
  static constexpr bool kTimeBeforeWait = true;

  WatchedReaders(M& machine, int slots)
      : machine_(machine),
        readers_(machine, slots),
        lock_(machine),
        scratch_(static_cast<size_t>(slots), std::vector<uint64_t>(static_cast<size_t>(slots))) {}

  static bool supported(const HtmCapabilities& can) {
    return can.suspend_loads && std::strcmp(can.backend, "none") != 0;
  }

  template <class Thread, class Lower, class Park>
  void enter(Thread& t, Lower&& lower, Park&& /*park*/) {
    for (;;) {
      lock_.await_free();  // a thread that waits here is parked
      const bool reads = t.mode == Context::Mode::read;
      if (reads) {
        readers_.activate(t.slot);
      } else {
        lower();
      }
      // For readers, separates ACTIVE from the first load, be it of the data, the clock or the
      // lock. Counterparts of this handshake are a committer's scan and the lock holder's scan. For
      // updates, separates the announcement from the reading of the time stamp.
      machine_.fence(Site{"furtsx.begin"});
      if (!reads || !lock_.held() || machine_.skips(Site{"furtsx.begin.lock"})) [[likely]] {
        return;
      }
      M::reach(Probe{"furtsx.retracts"});
      readers_.leave(t.slot);  // the holder waits for it
    }
  }

  /// First step in a hardware transaction. Throws HtmAbort.
  template <class Thread>
  void begin(Thread& t) {
    lock_.subscribe(*t.htm);
  }

  /// The isolation wait. Throws HtmAbort if the transaction is doomed.
  template <class Thread>
  void before_commit(Thread& t) {
    // Other threads store to their states all the time, so the states must not become part of the
    // read set. The transaction's stores stay protected.
    t.htm->track(Tracking::stores);
    M::phase(Phase::isolation_wait);
    readers_.await_active(
        t.slot, scratch(t.slot), [&] { return t.htm->doomed(); }, Site{"furtsx.isolation_wait"});
    M::phase(Phase::commit);
    t.htm->track(Tracking::all);
  }

  void leave(int slot) { readers_.leave(slot); }

  template <class Thread>
  void lock(Thread& t) {
    lock_.acquire(*t.htm);  // its fence separates the lock from the scan below
    M::phase(Phase::isolation_wait);
    readers_.await_active(t.slot, scratch(t.slot), [] { return false; }, Site{"furtsx.lock.scan"});
  }
  template <class Thread>
  void unlock(Thread& t) {
    lock_.release(*t.htm);
  }

 private:
  uint64_t* scratch(int slot) { return scratch_[static_cast<size_t>(slot)].data(); }

  M& machine_;
  CommitStates<M> readers_;
  SubscribedLock<M> lock_;
  std::vector<std::vector<uint64_t>> scratch_;
};

}  // namespace holdfast
