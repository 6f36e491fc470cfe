// SPDX-License-Identifier: Apache-2.0
//
// cc-HTM: Continuous Checkpointing of HTM Transactions in NVM (Giles, Doshi, Varman, ISMM 2017).
//
// Idea      A hardware transaction works on aliases of the words in volatile memory, so a cache
//           that evicts lines puts nothing of it on the medium. Its stores go home later, from a
//           redo log, in the order of commits. A clock read within the transaction gives the order.
// Area      header | watermark, twice | a circular redo log per thread (cc_log.h)
// Begin     number := counter++; hardware transaction that subscribes to the lock
// Load      the word's entry in the alias table, or its home
// Store     the word's entry, which may replace one whose transaction has retired; else abort
// Commit    fence; time := clock; hardware commit. End := counter; record to the log, around the
//           caches, pfence; the transaction turns red (tx_ring.h). It returns when it has retired,
//           or with a credit (lag).
// Retire    In the background, or in a thread that waits. The red transactions in the order of
//           their times, as far as each ended before the oldest blue one began: watermark, around
//           the caches, pfence; their stores -> home, pwb, pfence; watermark, pfence.
// Reads     in hardware as well, without a number; then wait for all that began before, unless
//           updates commit later
// Lock      after `retries` hardware transactions: run alone, with a private write set; then
//           number, clock, record as above; wait until it has retired, hence all before it; drop
//           the entries of its words.
// Recovery  Replay the records of the batch that the watermark names. New epoch, pwb, psync.
// Persists  ceil((32 + 16 N) / line) lines around the caches and 1 pfence per update of N words;
//           the changed lines, 2 lines around the caches and 3 pfence per batch of retirements;
//           none per read.
//
// Why the order is right
//  - Conflicting transactions T1 before T2 have times in this order. T2 has loaded what T1 had
//    committed, or T2's store took a line that T1 had loaded, or stored to, before T1's commit
//    would have been doomed by it. T2's fence lets its stores take their lines before its clock is
//    read. (The paper's claim 1 forgets the store buffer.)
//  - A blue transaction with a number of at least T's end has read its clock after T's commit. So
//    the first red transaction that ended before every blue one began has the smallest time of all.
//
// A body that keeps others from retiring for `patience_us` is given up: its number is stored to a
// word that it has loaded. After the second time it takes the lock.
//
// Differences from the paper: docs/reference/engines/cc-htm.md, with a table of its mistakes.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#include "holdfast/engines/cc_htm/cc_access.h"
#include "holdfast/engines/parts/basics/background_work.h"
#include "holdfast/engines/parts/basics/home_lines.h"
#include "holdfast/engines/parts/basics/round_lock.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/isolation/htm/subscribed_lock.h"

namespace holdfast {

/// The engine; see Engine and CanLag in engine.h for the contract.
template <class M>
class CcHtm : public cc_htm::CcAccess<M> {
 public:
  using Machine = M;
  static constexpr Description kDescription = {
      .name = "cc-htm",
      .title = "cc-HTM: hardware transactions on aliases, retired in the order of commits",
      .paper = "cc-HTM (ISMM 2017)",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = true,
      .lags = true,
      .log = "redo, per thread",
      .fences = "1 + 3 per batch",
      .options = cc_htm::kOptions,
      .option_count = sizeof(cc_htm::kOptions) / sizeof(cc_htm::kOptions[0]),
      .area_bytes = &cc_htm::area_bytes,
      .promise = &LagOptions::promise,
  };

  /// Throws Error(invalid_argument) for an option that does not parse.
  CcHtm(M& machine, const Regions& regions, const Options& options, int max_threads)
      : machine_(machine),
        regions_(regions),
        options_(cc_htm::CcOptions::parse(options).value()),
        area_(options_, max_threads),
        lock_(machine),
        retirement_(machine),
        statistics_(machine),
        alias_(machine, options_.alias_bytes, options_.ways),
        ring_(machine, options_.ring),
        log_(machine, regions, area_),
        shared_(make_object<Shared>(machine)),
        lines_(machine),
        attempts_(uses_hardware(machine.htm_capabilities()) ? options_.retries : 0),
        patience_(std::max<uint64_t>(machine.ticks_of_ms(options_.patience_us) / 1000, 1)) {
    for (int slot = 0; slot < std::min(area_.logs, machine.slots()); ++slot) {
      threads_.push_back(std::make_unique<Thread>(machine, alias_, slot, log_.capacity()));
      threads_.back()->data = regions.data;
      threads_.back()->capacity = regions.capacity;
    }
  }
  CcHtm(const CcHtm&) = delete;
  CcHtm& operator=(const CcHtm&) = delete;

  Status format() {
    log_.format();
    return {};
  }
  Status recover(RecoveryReport& report);
  Status close() { return settle(); }
  Status settle();

  void update(FunctionRef<void()> body, Commit commit = Commit::unsaid);
  void read(FunctionRef<void()> body);

  /// See CanLag in engine.h. Everything that has returned is home afterwards: the paper's TXFence.
  void fence() {
    const TransactionScope<M> scope(TransactionKind::update);
    M::phase(Phase::durability_wait);
    await_below(ring_.next(), Site{"cchtm.fence.wait"});
  }
  /// The paper's TXBarrier.
  Status barrier();
  PendingUpdates pending() const;

  Statistics statistics() const { return statistics_.sum(); }

  static bool uses_hardware(const HtmCapabilities& can) {
    return std::strcmp(can.backend, "none") != 0;
  }

 private:
  using Thread = cc_htm::CcThread<M>;
  using Path = typename Thread::Path;
  using Mode = Context::Mode;
  using Ring = cc_htm::TxRing<M>;
  using Finished = cc_htm::Finished;
  using Stamp = cc_htm::Stamp;
  using Printed = cc_htm::Printed;
  enum class Outcome : uint8_t { committed, aborted, alias_full, log_full };
  static constexpr uint64_t kNone = ~uint64_t{0};
  static constexpr uint64_t kMostRevoked = 2;

  struct alignas(kMaxLineBytes) Shared {
    typename M::template Atomic<uint64_t> credits{};  // in use
  };
  /// The result of a look at the ring.
  struct Round {
    bool some;      ///< something has retired, or another thread was at it
    uint64_t blue;  ///< the oldest transaction to wait for, or kNone
  };
  /// A waiting thread's view of the blue transaction that it waits for.
  struct Patience {
    uint64_t blue = 0;
    uint64_t since = 0;
  };

  bool printed(Printed what) const { return options_.printed == what; }
  Thread& here();

  // cc_htm_run-inl.h
  Outcome attempt(Thread& t, FunctionRef<void()> body, Mode mode, bool later);
  bool run_in_hardware(Thread& t, FunctionRef<void()> body);
  Outcome clean_up_abort(Thread& t);
  void take_number(Thread& t);
  void give_up(Thread& t);
  void make_room(Thread& t, bool whole);
  std::exception_ptr reserve(Thread& t);
  void finish(Thread& t, uint64_t time, bool later, bool alone = false);
  void locked(Thread& t, FunctionRef<void()> body, Mode mode);
  void commit_locked(Thread& t);
  void before_answer(Thread& t, Mode mode);
  void count(Thread& t, Mode mode);
  [[noreturn]] void fail(Thread& t, Mode mode, const std::exception_ptr& failure);
  bool take_credit();
  void return_credits(uint64_t n) {
    if (n > 0 && !machine_.skips(Site{"cchtm.credit"})) {
      shared_->credits.fetch_add(uint64_t{0} - n);
    }
  }

  // cc_htm_retire-inl.h
  void await_below(uint64_t end, Site site, bool alone = false);
  void await_retired(uint64_t id, bool alone, Site site);
  void help(Patience& patience, bool alone);
  bool give_up_body(uint64_t id);
  Round retire();
  Round retire_batch();
  void bring_home(size_t count);

  M& machine_;
  const Regions regions_;
  const cc_htm::CcOptions options_;
  const cc_htm::CcArea area_;
  SubscribedLock<M> lock_;
  RoundLock<M> retirement_;
  SlotStatistics<M> statistics_;
  cc_htm::AliasTable<M> alias_;
  Ring ring_;
  cc_htm::CcLog<M> log_;
  Shared* shared_;
  // Belong to the thread that retires.
  std::vector<Finished> red_;
  HomeLines<M> lines_;
  const uint64_t attempts_;  ///< in hardware, before the lock
  const uint64_t patience_;  ///< in units of now()
  std::vector<std::unique_ptr<Thread>> threads_;
  BackgroundWork<M> background_{machine_};
};

}  // namespace holdfast

#include "holdfast/engines/cc_htm/cc_htm_recover-inl.h"
#include "holdfast/engines/cc_htm/cc_htm_retire-inl.h"
#include "holdfast/engines/cc_htm/cc_htm_run-inl.h"
