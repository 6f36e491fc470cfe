// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/isolation/htm/commit_states.h"
#include "holdfast/engines/parts/isolation/htm/suspended.h"

namespace holdfast {

/// SI-HTM's concurrency control (Filipe et al., PPoPP 2019; FUR 2.2). Updates run as hardware
/// transactions that track stores only, read-only transactions outside of hardware transactions. An
/// update that has made its last access waits until everybody who was ACTIVE then is not any more;
/// who becomes ACTIVE later runs into its write set. Snapshot isolation.
///
/// Hardware transactions do not subscribe to the lock: its holder waits until everybody is
/// INACTIVE, and everybody looks at it after announcing themselves. COMPLETED counts as busy there,
/// so nothing commits under the lock.
template <class M>
class SnapshotTransactions {
 public:
  static constexpr Tracking kTracking = Tracking::stores;
  static constexpr bool kReadsInHardware = false;
  static constexpr bool kTimeBeforeWait = false;

  SnapshotTransactions(M& machine, int slots)
      : machine_(machine),
        states_(machine, slots),
        lock_(machine),
        scratch_(static_cast<size_t>(slots), std::vector<uint64_t>(static_cast<size_t>(slots))) {}

  /// A committer has to tell others what it does before it commits.
  static bool supported(const HtmCapabilities& can) { return can.suspend && can.untracked_loads; }

  template <class Thread, class Lower, class Park>
  void enter(Thread& t, Lower&& lower, Park&& park) {
    for (;;) {
      lock_.await_free();
      lower();
      states_.activate(t.slot);
      // ACTIVE, and what `lower` has announced, are visible before the first load, of the data, the
      // clock and the lock: a committer's scan and the lock holder's are the other half of this
      // handshake.
      machine_.fence(Site{"si.begin"});
      if (!lock_.held() || machine_.skips(Site{"si.begin.lock"})) [[likely]] {
        return;
      }
      states_.leave(t.slot);  // the holder waits for it
      park();
    }
  }
  template <class Thread>
  void begin(Thread& /*t*/) {}

  /// The isolation wait. Throws HtmAbort.
  template <class Thread>
  void before_commit(Thread& t) {
    run_suspended<&SnapshotTransactions::template complete<Thread>>(*t.htm, *this, t);
    M::phase(Phase::isolation_wait);
    states_.await_active(
        t.slot, scratch(t.slot), [&] { return t.htm->doomed(); }, Site{"si.isolation_wait"});
    M::phase(Phase::commit);
  }
  void leave(int slot) { states_.leave(slot); }

  template <class Thread>
  void lock(Thread& t) {
    lock_.acquire();
    M::phase(Phase::isolation_wait);
    // The lock is visible before the scan (the other half of enter()'s handshake).
    machine_.fence(Site{"si.lock"});
    states_.await_all(t.slot, scratch(t.slot), Site{"si.lock.scan"});
  }
  template <class Thread>
  void unlock(Thread& /*t*/) {
    lock_.release();
  }

 private:
  template <class Thread>
  static void complete(SnapshotTransactions& self, Thread& t) {
    self.states_.complete(t.slot);
    // COMPLETED is visible, and the body's stores own their lines, before the scan.
    self.machine_.fence(Site{"si.completed"});
  }
  uint64_t* scratch(int slot) { return scratch_[static_cast<size_t>(slot)].data(); }

  M& machine_;
  CommitStates<M> states_;
  GlobalLock<M> lock_;
  std::vector<std::vector<uint64_t>> scratch_;
};

}  // namespace holdfast
