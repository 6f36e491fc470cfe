// SPDX-License-Identifier: Apache-2.0
//
// HTM: plain hardware transactions with a single global lock, the volatile baseline of FUR's
// figures (EuroSys 2026, section 4.1, "HTM").
//
// Idea      Every transaction, read-only ones included, runs in a hardware transaction that tracks
//           loads and stores. After ten aborts of any cause it takes the global lock, to which all
//           hardware transactions subscribe.
// Log       none
// Begin     wait until the lock is free; begin; load the lock, abort if it is held
// Commit    hardware commit
// Recovery  none: the heap is in the state of its last clean close (volatile_home.h)
// Persists  nothing
//
// Differences from the paper
//  - The heap is a file: a clean close saves the data. The paper's baseline keeps it in DRAM only.
#pragma once

#include "holdfast/engines/parts/frame/no_durability.h"
#include "holdfast/engines/parts/frame/pht.h"
#include "holdfast/engines/parts/frame/tracked.h"

namespace holdfast {

/// The engine; see Pht for the frame and Engine in engine.h for the contract.
template <class M>
class Htm : public Pht<M, TrackedTransactions, NoDurability> {
 public:
  static constexpr OptionInfo kOptions[] = {kRetriesOption, kCapacityOption};
  static constexpr Description kDescription = {
      .name = "htm",
      .title = "hardware transactions and a global lock, without durability",
      .paper = "FUR (EuroSys 2026), section 4.1: the baseline HTM",
      .isolation = Isolation::opaque,
      .durability = Durability::none,
      .layout = Layout::working_copy,
      .needs_htm = true,
      .log = "none",
      .fences = "0",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &volatile_pht_area_bytes,
  };

  Htm(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Pht<M, TrackedTransactions, NoDurability>(kDescription, machine, regions, options,
                                                  max_threads) {}
};

}  // namespace holdfast
