// SPDX-License-Identifier: Apache-2.0
//
// Every workload as all.h makes it, but for what judges.
#pragma once

#include <memory>
#include <string>

#include "holdfast/workloads/registry.h"
#include "holdfast/workloads/small.h"
#include "holdfast/workloads/tpcc/runner.h"

namespace holdfast {

/// The workload over this heap; who judges is still to be appointed. Throws as make_workload does.
template <class H>
std::unique_ptr<WorkloadInstance> make_runner(const std::string& name, H& heap,
                                              const Parameters& parameters) {
  if (name == "tpcc") {
    return std::make_unique<TpccRunner<H>>(heap, parameters);
  }
  auto small = make_if_small<Parts::runner>(name, heap, parameters);
  if (small == nullptr) {
    throw_no_workload(name);
  }
  return small;
}

}  // namespace holdfast
