// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/engines/common/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/session.h"
#include "holdfast/workloads/workload.h"

namespace holdfast {

using SimHeap = Heap<AnyEngine<SimMachine>>;

/// Every workload, compiled once for the simulated machine in a translation unit of its own.
std::unique_ptr<WorkloadInstance> make_sim_workload(const std::string& name, SimHeap& heap,
                                                    const Parameters& parameters);

/// What a simulated run gave.
struct SimRun {
  uint64_t operations = 0;
  uint64_t rolled_back = 0;
  std::vector<uint64_t> by_kind;
  Statistics statistics;  ///< of the measured part
  uint64_t steps = 0;     ///< machine operations of the measured part
  uint64_t persist_events = 0;
  double host_seconds = 0;
  Status check;
};

/// Sets the workload up on a fresh simulated machine, runs `transactions` operations on each of
/// spec.threads threads, and checks. Throws Error or SimStuck.
SimRun run_simulated(const SessionSpec& spec, uint64_t transactions);

}  // namespace holdfast
