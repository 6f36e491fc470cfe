// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/isolation/htm/commit_states.h"
#include "holdfast/engines/parts/isolation/htm/subscribed_lock.h"

namespace holdfast {

/// FUR's concurrency control where hardware can suspend the tracking of loads, and nothing else
/// (FUR 5): updates are ordinary hardware transactions that subscribe to the lock; read-only ones
/// run outside and announce themselves. Before it commits, an update waits, its loads untracked,
/// until every reader that was ACTIVE then is not any more. Readers that become ACTIVE later run
/// into its write set. Opaque.
template <class M>
class WatchedReaders {
 public:
  static constexpr Tracking kTracking = Tracking::all;
  static constexpr bool kReadsInHardware = false;
  /// A reader that an update has not waited for has a later time than the update: the one reads its
  /// clock before it looks for readers, the other one after it has announced itself.
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
      // For readers: ACTIVE is visible before the first load, of the data, the clock and the lock.
      // A committer's scan, and the lock holder's, are the other half of this handshake. For
      // updates: announced before the time stamp is read.
      machine_.fence(Site{"furtsx.begin"});
      if (!reads || !lock_.held() || machine_.skips(Site{"furtsx.begin.lock"})) [[likely]] {
        return;
      }
      readers_.leave(t.slot);  // the holder waits for it
    }
  }

  /// First thing in a hardware transaction. Throws HtmAbort.
  template <class Thread>
  void begin(Thread& t) {
    lock_.subscribe(*t.htm);
  }

  /// The isolation wait. Throws HtmAbort.
  template <class Thread>
  void before_commit(Thread& t) {
    // The states belong to others, who store to them all the time: they must not become part of the
    // read set. The stores stay protected.
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
    lock_.acquire(*t.htm);  // and fences: the lock is visible before the scan
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
