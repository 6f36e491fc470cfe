// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/workloads/registry.h"

namespace holdfast {

std::unique_ptr<WorkloadInstance> make_sim_workload(const std::string& name, SimHeap& heap,
                                                    const Parameters& parameters) {
  return make_workload(name, heap, parameters);
}

}  // namespace holdfast
