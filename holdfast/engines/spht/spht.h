// SPDX-License-Identifier: Apache-2.0
//
// SPHT: Scalable Persistent Hardware Transactions (Castro, Baldassin, Barreto, Romano, FAST 2021),
// the full variant, with forward log linking. FUR 2.3 summarises it.
//
// Idea      Hardware transactions on a private working copy log their stores, with values, into
//           per-thread logs in persistent memory, and read the clock before they commit. Threads
//           flush their logs in parallel. One global marker holds the time up to which everything
//           is durable, and one thread of a group raises it for all.
// Area      header | marker | progress of the replay, twice | one circular log per thread
// Begin     slot := {running, clock}, fence; hardware transaction that tracks everything and
//           subscribes to the lock. A store also appends {place, value} to the log, in the same
//           transaction: the log takes write capacity.
// Commit    T := clock; hardware commit; slot := {T, committed}; flush the log, fence, header with
//           T, flush, fence; slot := {T, logged}; durability wait: until no other update with a
//           smaller time is running or has an incomplete log. If a newer one has committed
//           meanwhile, wait until the marker has reached T; else raise it to T, flush, fence. Link.
// Reads     in hardware transactions as well; then wait for all updates older than their own clock
// Recovery  Replay the transactions with T up to the marker in the order of T; discard the others.
// Persists  ceil((16 N + 32) / line) pwb and 1 or 2 pfence per update of N words; a group's leader
//           1 pwb and 1 pfence more; none per read.
//
// Why it is durably opaque. Times agree with the order in which the hardware serialised
// transactions that depend on each other (logged_durability.h). The marker passes T only when all
// logs up to T are durable. A transaction that has not announced a smaller time by then reads a
// larger one. So the survivors of a crash are a whole prefix of the order of times.
//
// Differences from the paper
//  - A read-only transaction, which is declared, waits until the older updates are certain to
//    survive, not only until their logs are durable: in between a crash may still discard them.
//  - Followers wait for one word that holds the marker's flushed value, instead of one per thread.
//  - The header contains sizes and a checksum besides T (24 bytes instead of 8), so that recovery
//    detects damage. Positions and an epoch invalidate the remains of earlier laps.
//  - The lock path takes its own T under the lock, and is durable before the lock is released.
//  - A word that is stored again gets its new value in its existing log entry, where that is cheap
//    to detect, as in FUR's logs. The allocator's lists are transactional data here, and would fill
//    the log.
//  - Links serve only the running replayer. Recovery sorts, because it must check every record
//    before it trusts any.
#pragma once

#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/frame/pht.h"
#include "holdfast/engines/parts/frame/tracked.h"
#include "holdfast/engines/spht/group_commit.h"

namespace holdfast {

/// The engine; see Pht for the frame and Engine in engine.h for the contract.
template <class M>
class Spht : public Pht<M, TrackedTransactions, GroupCommit> {
 public:
  static constexpr OptionInfo kOptions[] = {kRetriesOption,    kCapacityOption,  kPhtLogBytesOption,
                                            kBackgroundOption, kReplayersOption, kOrderOption};
  static constexpr Description kDescription = {
      .name = "spht",
      .title = "SPHT: hardware transactions, parallel redo logs, group commit",
      .paper = "SPHT (FAST 2021); FUR (EuroSys 2026), section 2.3",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::working_copy,
      .needs_htm = true,
      .log = "redo, per thread, linked",
      .fences = "1 to 3",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &pht_area_bytes,
      .most_bytes = RedoRecord::kMostBytes,
  };

  Spht(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Pht<M, TrackedTransactions, GroupCommit>(kDescription, machine, regions, options,
                                                 max_threads) {}
};

}  // namespace holdfast
