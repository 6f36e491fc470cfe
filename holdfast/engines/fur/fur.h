// SPDX-License-Identifier: Apache-2.0
//
// FUR: Fast and Unlimited Reads on Persistent Memory Transactions (Barreto, Castro, Romano,
// Baldassin, EuroSys 2026), section 3 and Algorithm 1.
//
// Idea      Update transactions run as hardware transactions on a private copy-on-write working
//           copy of the heap. Redo logs make them durable; a replayer brings the home up to date
//           later. Read-only transactions run outside hardware transactions, without limit and
//           without flushes. A committer waits until the readers that may have seen its old data
//           are done (isolation wait). A reader waits, at its end, until the transactions it may
//           have read from are durable (durability wait).
// Area      header | tail | durability markers | one circular redo log per thread
// Begin     ACTIVE; fence; check the lock. fur-opa tracks loads and stores, fur-si stores only.
// Commit    suspend tracking; INACTIVE; log -> persistent log, pwb; number := ++order; isolation
//           wait; NON_DURABLE; resume; hardware commit; pfence; durability wait; marker, pwb;
//           pfence; settled.
// Recovery  Replay the logs of all durable markers beyond the tail, in the order of their numbers.
// Persists  ceil(16 N / line) + 1 pwb and 2 pfence per update of N words; none per read.
//
// Differences from the paper
//  - The durability wait compares transaction numbers instead of time stamps. The printed order has
//    a race: a reader may become ACTIVE after a committer's scan, yet before its hardware commit.
//    The reader then reads the committer's data, but skips it in its durability wait, because its
//    own stamp is the older one. A crash erases data that the reader has returned.
//    Here the committer publishes {NON_DURABLE, number}. Every transaction takes, after ACTIVE and
//    the fence, the newest number given out as its key, and waits for numbers up to the key.
//      Claim: if R reads from W, then number(W) <= key(R), and R finds {NON_DURABLE, number(W)} or
//      W durable.
//      Proof: W did not wait for R, else R's load would have doomed W. So W's load of R's activity
//      came before R's ACTIVE became visible. W took its number before that load (a
//      read-modify-write, then a load, both sequentially consistent). R loaded its key after ACTIVE
//      (fence between). W's slot became visible before W's data, and R scans after its loads.
//      An update U waits for numbers up to key(U) < number(U), so no two transactions wait for each
//      other.
//    Option timestamps=as_printed restores the printed order, so that the race can be studied.
//  - Algorithm 1 leaves out the lock path: see locked().
//  - The paper prints a fence after INACTIVE in commit, which only shows INACTIVE to others sooner.
//    The read-modify-write that takes the number does that too.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>

#include "holdfast/engines/fur/fur_access.h"
#include "holdfast/engines/fur/fur_options.h"
#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/durability/numbered/numbered_log.h"

namespace holdfast {

/// The engine; see Engine in engine.h for the contract. All threads may update and read at once. An
/// update is durable when update() returns, and so is everything that a transaction has read when
/// update() or read() returns.
template <class M, Tracking kTracking>
class Fur : public FurAccess<M, kTracking> {
 public:
  using Machine = M;
  static constexpr Description kDescription = kTracking == Tracking::all ? kFurOpa : kFurSi;

  /// Throws Error(invalid_argument) for an option that does not parse.
  Fur(M& machine, const Regions& regions, const Options& options, int max_threads)
      : machine_(machine),
        regions_(regions),
        options_(FurOptions::parse(options, max_threads).value()),
        log_(machine, regions, options_.log, max_threads),
        states_(log_.states()),
        lock_(machine),
        attempts_(uses_hardware(machine.htm_capabilities()) ? options_.retries : 0) {
    for (int slot = 0; slot < std::min(log_.logs(), machine.slots()); ++slot) {
      threads_.push_back(std::make_unique<Thread>(machine, log_.redo(slot), slot, log_.logs()));
      threads_.back()->data = regions.data;
      threads_.back()->capacity = regions.capacity;
    }
  }

  Status format() { return log_.format(); }
  Status recover(RecoveryReport& report) { return log_.recover(kDescription.name, report); }
  Status close() { return log_.close(); }
  Result<ReplayReport> replay(const ReplayOptions& options) { return log_.replay(options); }
  void grown(size_t bytes) { log_.grown(bytes); }

  void update(FunctionRef<void()> body);
  void read(FunctionRef<void()> body);

  Statistics statistics() const { return log_.statistics().sum(); }

  /// Without full suspend a committer cannot announce its state before it commits. Then all updates
  /// take the lock.
  static bool uses_hardware(const HtmCapabilities& can) {
    return can.suspend && (kTracking == Tracking::all || can.untracked_loads);
  }

 private:
  using Thread = FurThread<M>;
  using Path = typename Thread::Path;
  enum class Outcome : uint8_t { committed, aborted, log_full };
  bool as_printed() const { return options_.timestamps == FurTimestamps::as_printed; }

  Thread& here();
  uint64_t enter(int slot);
  Outcome attempt(Thread& t, FunctionRef<void()> body);
  void commit_in_hardware(Thread& t);
  static void prepare_commit(Fur& self, Thread& t);
  void finish_without_stores(Thread& t, uint64_t key);
  void harden(Thread& t, uint64_t key);
  Outcome clean_up_abort(Thread& t);
  Outcome locked(Thread& t, FunctionRef<void()> body);
  Outcome leave_lock(Thread& t, const std::exception_ptr& failure);
  template <class LoadWord, class LoadRange, class Stop>
  void stage(Thread& t, LoadWord&& load_word, LoadRange&& load_range, Stop&& stop);
  void write_marker(Thread& t, Site site) {
    log_.write_marker(t.number, t.slot, t.redo.start(), t.staged.data(), t.log.bytes(), site);
  }
  void count_update(const Thread& t) { log_.count_update(t.slot, t.stored_bytes, t.log.bytes()); }
  auto& counts(const Thread& t) { return log_.statistics().at(t.slot); }

  M& machine_;
  Regions regions_;
  FurOptions options_;
  NumberedLog<M> log_;
  StateArray<M>& states_;
  GlobalLock<M> lock_;
  uint64_t attempts_;  ///< in hardware, before the lock
  std::vector<std::unique_ptr<Thread>> threads_;
};

/// Opaque: loads of update transactions are tracked.
template <class M>
using FurOpa = Fur<M, Tracking::all>;
/// Snapshot isolation: no loads are tracked.
template <class M>
using FurSi = Fur<M, Tracking::stores>;

}  // namespace holdfast

#include "holdfast/engines/fur/fur_commit-inl.h"
#include "holdfast/engines/fur/fur_locked-inl.h"
