// SPDX-License-Identifier: Apache-2.0
//
// SI-HTM: Stretching the capacity of hardware transactional memory with snapshot isolation (Filipe,
// Issa, Romano, Barreto, PPoPP 2019), as described in FUR 2.2.
//
// Idea      Without load tracking a hardware transaction reads without limit. An update that has
//           made its last access waits for everybody who may still see its old data before it
//           commits; read-only transactions need no hardware transaction at all.
// Log       none
// Begin     ACTIVE, fence, look at the lock; updates: hardware transaction that tracks stores only
// Commit    suspend, COMPLETED, fence, resume; isolation wait: for all who are ACTIVE; hardware
//           commit; INACTIVE
// Recovery  none: the heap is as it was when it was last closed (volatile_home.h)
// Persists  nothing
//
// Why reads are consistent: whoever is ACTIVE before the committer's scan is waited for, and
// finishes on old data. Whoever becomes ACTIVE later loads after that, and a load of a line in a
// write set dooms its owner.
//
// Differences from the paper
//  - A capacity abort counts like any other (option capacity=retry, as in FUR's evaluation); the
//    paper's takes the lock at once (capacity=lock).
//  - A heap file: a clean close saves the data.
#pragma once

#include "holdfast/engines/parts/frame/no_durability.h"
#include "holdfast/engines/parts/frame/pht.h"
#include "holdfast/engines/parts/frame/snapshot.h"

namespace holdfast {

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
