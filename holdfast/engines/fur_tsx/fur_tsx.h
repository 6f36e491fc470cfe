// SPDX-License-Identifier: Apache-2.0
//
// FUR as its section 5 sketches it for Intel's TSX, which can suspend the tracking of loads only
// (XSUSLDTRK). Read-only transactions keep unlimited reads and the pruned durability wait.
//
// Idea      Updates are ordinary hardware transactions. Read-only transactions run outside of
//           hardware transactions and announce themselves. A committer waits for the readers that
//           may have seen its old data (isolation wait). A reader waits, at its end, until the
//           transactions it may have read from are durable.
// Area      as NV-HTM: header | progress of the replay, twice | one circular log per thread
// Begin     slot := {running, clock}, fence; hardware transaction that subscribes to the lock. A
//           store also appends {place, value} to the log.
// Commit    T := clock; suspend load tracking; wait for every reader ACTIVE now; resume;
//           slot := {NON_DURABLE, T}; hardware commit; flush the log, fence; wait for those
//           NON_DURABLE with a smaller T; marker with T, flush, fence; slot := parked
// Reads     ACTIVE, fence, key := clock, check the lock; body; INACTIVE; wait for those
//           NON_DURABLE with T <= key
// Recovery  Replay every transaction that has its marker, in the order of T.
// Persists  ceil((16 N + 24) / line) + 1 pwb and 2 pfence per update of N words; none per read
//
// Why readers may prune. Let R read from W. Then W did not wait for R, else R's load would have
// doomed W. So W loaded R's state before R's ACTIVE was visible. W read its clock before that load,
// R after its fence: T(W) <= key(R). W's slot shows NON_DURABLE no later than its data becomes
// visible, and R scans after its loads. So R finds it, or W is durable.
//
// Differences from the paper
//  - The paper leaves open how updates become durable. Taking numbers from a counter inside the
//    transaction would cause conflicts, so T orders transactions, as in NV-HTM. But a marker only
//    follows those of transactions that have committed before, not of all that began before. So
//    recovery finds gaps in the order, of transactions that no other transaction has read from.
//  - The log is written in the transaction and flushed after it: nothing can be flushed inside.
//  - NON_DURABLE is stored last within the transaction: a thread that scans the slots meanwhile
//    dooms it.
#pragma once

#include "holdfast/engines/fur_tsx/partial_order.h"
#include "holdfast/engines/fur_tsx/watched_readers.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/frame/pht.h"

namespace holdfast {

/// The engine; see Pht for the frame and Engine in engine.h for the contract.
template <class M>
class FurTsx : public Pht<M, WatchedReaders, PartialOrder> {
 public:
  static constexpr OptionInfo kOptions[] = {kRetriesOption, kCapacityOption, kPhtLogBytesOption,
                                            kBackgroundOption, kReplayersOption};
  static constexpr Description kDescription = {
      .name = "fur-tsx",
      .title = "FUR on hardware that suspends load tracking only: unlimited reads for readers",
      .paper = "FUR (EuroSys 2026), section 5",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::working_copy,
      .needs_htm = true,
      .log = "redo, per thread",
      .fences = "2",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &pht_area_bytes,
      .most_bytes = RedoRecord::kMostBytes,
  };

  FurTsx(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Pht<M, WatchedReaders, PartialOrder>(kDescription, machine, regions, options, max_threads) {
  }
};

}  // namespace holdfast
