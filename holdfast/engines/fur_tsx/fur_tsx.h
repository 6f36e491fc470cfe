// SPDX-License-Identifier: Apache-2.0
//
// FUR as its section 5 sketches it for Intel's TSX, which can suspend the tracking of loads only
// (XSUSLDTRK): unlimited reads and the pruned durability wait for read-only transactions.
//
// Idea      Updates are ordinary hardware transactions. Read-only ones run outside, announced; a
//           committer waits for those that may have seen its old data (isolation wait), and they
//           wait, at their end, for those they may have read from to be durable.
// Area      as NV-HTM: header | what has been replayed, twice | one circular log per thread
// Begin     slot := {running, clock}, fence; hardware transaction that subscribes to the lock. A
//           store also appends {place, value} to the log.
// Commit    T := clock; suspend load tracking; wait for every reader ACTIVE now; resume;
//           slot := {NON_DURABLE, T}; hardware commit; flush the log, fence; wait for those
//           NON_DURABLE with a smaller T; marker with T, flush, fence; slot := parked
// Reads     ACTIVE, fence, key := clock, look at the lock; body; INACTIVE; wait for those
//           NON_DURABLE with T <= key
// Recovery  replay everything that has its marker, in the order of T.
// Persists  ceil((16 N + 24) / line) + 1 pwb and 2 pfence per update of N words; none per read
//
// Why readers may prune. If R reads from W, then W did not wait for R, else R's load would have
// doomed it; so W looked at R's state before R's ACTIVE was visible. W read its clock before that
// look, R after its fence: T(W) <= key(R). And W's slot says NON_DURABLE no later than its data are
// visible, R looks after its loads: R finds it, or W is durable.
//
// Differences from the paper
//  - It sets aside how updates become durable. Numbers from a counter cannot be taken in the
//    transaction without conflicts, so T orders them, as in NV-HTM; but markers only follow those
//    of transactions that have committed before, not of all that began before. A recovery finds
//    gaps in the order, of transactions that nobody has read from.
//  - The log is written in the transaction and flushed behind it: nothing can be flushed inside.
//  - NON_DURABLE is stored last, within the transaction: whoever scans the slots meanwhile dooms
//  it.
#pragma once

#include "holdfast/engines/fur_tsx/partial_order.h"
#include "holdfast/engines/fur_tsx/watched_readers.h"
#include "holdfast/engines/parts/frame/pht.h"

namespace holdfast {

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
  };

  FurTsx(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Pht<M, WatchedReaders, PartialOrder>(kDescription, machine, regions, options, max_threads) {
  }
};

}  // namespace holdfast
