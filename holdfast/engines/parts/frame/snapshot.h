// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/isolation/htm/commit_states.h"
#include "holdfast/engines/parts/isolation/htm/suspended.h"

namespace holdfast {

/// SI-HTM's concurrency control (Filipe et al., PPoPP 2019; FUR 2.2). Updates run as hardware
/// transactions that track stores only; read-only transactions run outside of hardware
/// transactions. An update that has made its last access waits until every transaction that is
/// ACTIVE has left that state. A transaction that becomes ACTIVE later conflicts with its write
/// set. Snapshot isolation.
///
/// Hardware transactions do not subscribe to the lock. Its holder waits until all others are
/// INACTIVE, and each transaction announces itself before it checks the lock. The holder waits for
/// COMPLETED ones too, so that none commits under the lock.
///
/// The members are described at TrackedTransactions.
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

  /// A committer must announce its state before it commits, so it needs full suspend.
  static bool supported(const HtmCapabilities& can) { return can.suspend && can.untracked_loads; }

  template <class Thread, class Lower, class Park>
  void enter(Thread& t, Lower&& lower, Park&& park) {
    for (;;) {
      lock_.await_free();
      lower();
      states_.activate(t.slot);
      // Separates ACTIVE, and the announcement of `lower`, from the first load, be it of the data,
      // the clock or the lock. Counterparts of this handshake are a committer's scan and the lock
      // holder's scan.
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

  /// The isolation wait. Throws HtmAbort if the transaction is doomed.
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
    // Separates the lock's store from the scan; counterpart of the fence in enter().
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
    // Separates COMPLETED from the scan. The body's stores own their lines before the scan.
    self.machine_.fence(Site{"si.completed"});
  }
  uint64_t* scratch(int slot) { return scratch_[static_cast<size_t>(slot)].data(); }

  M& machine_;
  CommitStates<M> states_;
  GlobalLock<M> lock_;
  std::vector<std::vector<uint64_t>> scratch_;
};

}  // namespace holdfast
