// SPDX-License-Identifier: Apache-2.0
//
// SI-HTM: Stretching the capacity of hardware transactional memory with snapshot isolation (Filipe,
// Issa, Romano, Barreto, PPoPP 2019), as described in FUR 2.2.
//
// Idea      Without load tracking a hardware transaction reads without limit. An update that has
//           made its last access waits, before it commits, for all transactions that may still see
//           its old data. Read-only transactions need no hardware transaction at all.
// Log       none
// Begin     ACTIVE, fence, check the lock; updates: hardware transaction that tracks stores only
// Commit    suspend, COMPLETED, fence, resume; isolation wait for all that are ACTIVE; hardware
//           commit; INACTIVE
// Recovery  none: the heap is in the state of its last clean close (volatile_home.h)
// Persists  nothing
//
// Why reads are consistent. A transaction that is ACTIVE before the committer's scan is waited for,
// and finishes on old data. A transaction that becomes ACTIVE later loads after that, and a load of
// a line in a write set dooms the line's owner.
//
// Differences from the paper
//  - A capacity abort counts like any other (option capacity=retry, as in FUR's evaluation). In the
//    paper it takes the lock at once (capacity=lock).
//  - The heap is a file: a clean close saves the data.
#pragma once

#include "holdfast/engines/parts/frame/no_durability.h"
#include "holdfast/engines/parts/frame/pht.h"
#include "holdfast/engines/parts/frame/snapshot.h"

namespace holdfast {

/// The engine; see Pht for the frame and Engine in engine.h for the contract.
template <class M>
class SiHtm : public Pht<M, SnapshotTransactions, NoDurability> {
 public:
  static constexpr OptionInfo kOptions[] = {kRetriesOption, kCapacityOption};
  static constexpr Description kDescription = {
      .name = "si-htm",
      .title = "hardware transactions with unlimited reads, without durability",
      .paper = "SI-HTM (PPoPP 2019); FUR (EuroSys 2026), section 2.2",
      .isolation = Isolation::snapshot,
      .durability = Durability::none,
      .layout = Layout::working_copy,
      .needs_htm = true,
      .log = "none",
      .fences = "0",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &volatile_pht_area_bytes,
  };

  SiHtm(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Pht<M, SnapshotTransactions, NoDurability>(kDescription, machine, regions, options,
                                                   max_threads) {}
};

}  // namespace holdfast
