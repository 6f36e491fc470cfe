// SPDX-License-Identifier: Apache-2.0
//
// SPHT+SI-HTM: the no-frills combination of durability with unlimited reads that FUR sets out from
// (EuroSys 2026, section 2.4).
//
// Idea      SPHT's logs, time stamps, waits and marker; SI-HTM's update transactions, with stores
//           tracked only and an isolation wait, and read-only transactions outside of hardware.
// Area      as SPHT
// Begin     slot := {running, clock}; ACTIVE, fence, look at the lock; hardware transaction that
//           tracks stores only. A store also appends {place, value} to the log.
// Commit    suspend, COMPLETED, fence, resume; isolation wait; T := clock; hardware commit;
//           INACTIVE; then as SPHT
// Reads     ACTIVE, fence; loads; T := clock; INACTIVE; wait for all updates older than T
// Recovery  as SPHT
// Persists  as SPHT: the log cannot be flushed inside the hardware transaction
//
// Why T is right. If a transaction reads or overwrites what W has stored, W's hardware commit came
// first: before it, the access would have doomed W. W read T just before that commit, in the
// transaction; the other one reads the clock after its own accesses. So times agree with the order
// of versions, and with who read from whom. T could be taken before the isolation wait as well; but
// all who have a larger T, and would then wait for W's log, learn from the later T that they need
// not.
//
// What it costs, and FUR avoids (2.4): W's slot shows its lower bound during the isolation wait, as
// long as the longest reader takes, and everybody's durability wait waits for it.
#pragma once

#include "holdfast/engines/parts/frame/pht.h"
#include "holdfast/engines/parts/frame/snapshot.h"
#include "holdfast/engines/spht/group_commit.h"

namespace holdfast {

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
  };

  SphtSiHtm(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Pht<M, SnapshotTransactions, GroupCommit>(kDescription, machine, regions, options,
                                                  max_threads) {}
};

}  // namespace holdfast
