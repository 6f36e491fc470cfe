// SPDX-License-Identifier: Apache-2.0
//
// The frame of engines that run transactions in off-the-shelf hardware transactions (FUR 2.1 to
// 2.4). The transactions work on a private working copy, and fall back to a global lock.
//
// An engine is the frame with two parts:
//
//   concurrency   TrackedTransactions, SnapshotTransactions: isolates transactions
//   durability    NoDurability, GroupCommit, TotalOrder: makes their stores durable, or does not
//
//                          NoDurability   GroupCommit     TotalOrder
//   TrackedTransactions    htm            spht            nv-htm
//   SnapshotTransactions   si-htm         spht-si-htm
//
// fur-tsx uses the frame with two parts of its own.
//
// Begin     make room in the log; the slot shows a lower bound of the time stamp; hardware
//           transaction
// Commit    isolation wait, if any; T := clock; hardware commit; log, waits and markers of the
//           durability part; the slot is parked
// Reads     end with a durability wait for every transaction older than their own T
// Lock      after `retries` attempts: run alone, store in place, keep the old values; commit as
//           above, before the lock is released
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "holdfast/engines/parts/basics/log_replay.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/frame/pht_options.h"
#include "holdfast/engines/parts/isolation/htm/htm_access.h"

namespace holdfast {

/// One thread's transaction, and the memory it keeps between transactions.
template <class M, class Log>
struct alignas(kMaxLineBytes) PhtThread : HtmThread<M> {
  using Base = HtmThread<M>;

  PhtThread(M& machine, Log own_log, int own_slot)
      : Base(machine, own_slot), log(std::move(own_log)) {}

  Log log;

  void begin(Context::Mode new_mode, typename Base::Path new_path) {
    Base::begin(new_mode, new_path);
    log.begin();
  }
  void storing(const void* p, size_t n) { log.storing(*this, p, n); }
  void stored(const void* p, size_t n) { log.stored(*this, p, n); }
};

/// The frame; see Engine in engine.h for the contract. The members of the two parts are described
/// at TrackedTransactions and LoggedDurability.
template <class M, template <class> class ConcurrencyOf, template <class> class DurabilityOf>
class Pht
    : public HtmAccess<PhtThread<M, typename DurabilityOf<M>::Log>, ConcurrencyOf<M>::kTracking> {
 public:
  using Machine = M;

  /// Throws Error(invalid_argument) for an option that does not parse.
  Pht(const Description& description, M& machine, const Regions& regions, const Options& options,
      int max_threads)
      : name_(description.name),
        machine_(machine),
        options_(PhtOptions::parse(options).value()),
        statistics_(machine),
        concurrency_(machine, max_threads + 2),
        durability_(machine, regions, options_, max_threads, statistics_),
        attempts_(uses_hardware(machine.htm_capabilities()) ? options_.retries : 0) {
    for (int slot = 0; slot < durability_.threads(); ++slot) {
      threads_.push_back(std::make_unique<Thread>(machine, durability_.log(slot), slot));
      threads_.back()->data = regions.data;
      threads_.back()->capacity = regions.capacity;
    }
  }

  Pht(const Pht&) = delete;
  Pht& operator=(const Pht&) = delete;

  Status format() { return durability_.format(); }
  Status recover(RecoveryReport& report) { return durability_.recover(name_, report); }
  Status close() { return durability_.close(); }
  Result<ReplayReport> replay(const ReplayOptions& options)
    requires ReplaysLogs<DurabilityOf<M>>
  {
    return durability_.replay(options);
  }
  void grown(size_t bytes) {
    if constexpr (requires { durability_.grown(bytes); }) {
      durability_.grown(bytes);
    }
  }

  void update(FunctionRef<void()> body);
  void read(FunctionRef<void()> body);

  Statistics statistics() const { return statistics_.sum(); }

  static bool uses_hardware(const HtmCapabilities& can) { return Concurrency::supported(can); }

 private:
  using Concurrency = ConcurrencyOf<M>;
  using Durability = DurabilityOf<M>;
  using Thread = PhtThread<M, typename Durability::Log>;
  using Path = typename Thread::Path;
  using Mode = Context::Mode;
  enum class Outcome : uint8_t { committed, aborted, too_large, log_full };

  Thread& here();
  bool goes_to_lock(Outcome outcome) const {
    return outcome == Outcome::too_large && options_.capacity_locks;
  }
  Outcome attempt(Thread& t, FunctionRef<void()> body, Mode mode);
  Outcome clean_up_abort(Thread& t);
  void finish(Thread& t, Mode mode, uint64_t time);
  [[noreturn]] void fail(Thread& t, uint64_t time, const std::exception_ptr& failure);
  void read_outside(Thread& t, FunctionRef<void()> body);
  Outcome locked(Thread& t, FunctionRef<void()> body, Mode mode);
  Outcome leave_lock(Thread& t, const std::exception_ptr& failure);
  void count(Thread& t, Mode mode);

  const char* name_;
  M& machine_;
  PhtOptions options_;
  SlotStatistics<M> statistics_;
  Concurrency concurrency_;
  Durability durability_;
  uint64_t attempts_;  ///< in hardware, before the lock
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace holdfast

#include "holdfast/engines/parts/frame/pht_locked-inl.h"
#include "holdfast/engines/parts/frame/pht_run-inl.h"
