// SPDX-License-Identifier: Apache-2.0
//
// SPHT+SI-HTM: the simple combination of durability with unlimited reads that FUR starts from
// (EuroSys 2026, section 2.4).
//
// Idea      SPHT's logs, time stamps, waits and marker. SI-HTM's update transactions, which track
//           stores only and end with an isolation wait, and its read-only transactions outside of
//           hardware transactions.
// Area      as SPHT
// Begin     slot := {running, clock}; ACTIVE, fence, check the lock; hardware transaction that
//           tracks stores only. A store also appends {place, value} to the log.
// Commit    suspend, COMPLETED, fence, resume; isolation wait; T := clock; hardware commit;
//           INACTIVE; then as SPHT
// Reads     ACTIVE, fence; loads; T := clock; INACTIVE; wait for all updates older than T
// Recovery  as SPHT
// Persists  as SPHT: the log cannot be flushed inside the hardware transaction
//
// Why T is correct. Let a transaction read or overwrite a store of W. Then W's hardware commit came
// first, because an earlier access would have doomed W. W read T just before that commit, in the
// transaction; the other one reads the clock after its own accesses. So times agree with the order
// of versions, and with the order of reads from writes. T could also be read before the isolation
// wait. The later T shows transactions with a larger T sooner that they need not wait for W's log.
//
// Cost that FUR avoids (2.4): during the isolation wait, which lasts as long as the longest reader,
// W's slot shows its lower bound, and every other durability wait waits for it.
//
// Differences from the papers: those of SPHT (spht.h) and SI-HTM (si_htm.h).
#pragma once

#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/frame/pht.h"
#include "holdfast/engines/parts/frame/snapshot.h"
#include "holdfast/engines/spht/group_commit.h"

namespace holdfast {

/// The engine; see Pht for the frame and Engine in engine.h for the contract.
template <class M>
class SphtSiHtm : public Pht<M, SnapshotTransactions, GroupCommit> {
 public:
  static constexpr OptionInfo kOptions[] = {kRetriesOption,    kCapacityOption,  kPhtLogBytesOption,
                                            kBackgroundOption, kReplayersOption, kOrderOption};
  static constexpr Description kDescription = {
      .name = "spht-si-htm",
      .title = "SPHT's durability with SI-HTM's unlimited reads, merely combined",
      .paper = "FUR (EuroSys 2026), section 2.4",
      .isolation = Isolation::snapshot,
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

  SphtSiHtm(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Pht<M, SnapshotTransactions, GroupCommit>(kDescription, machine, regions, options,
                                                  max_threads) {}
};

}  // namespace holdfast
