// SPDX-License-Identifier: Apache-2.0
//
// Every workload, by name. A new one is a header, its info, a line in small.h and one in
// registry.cc.
#pragma once

#include <memory>
#include <string>

#include "holdfast/workloads/registry.h"
#include "holdfast/workloads/small.h"
#include "holdfast/workloads/tpcc/tpcc.h"

namespace holdfast {

/// The workload over this heap. Throws Error(invalid_argument) for a wrong name or parameter.
template <class H>
std::unique_ptr<WorkloadInstance> make_workload(const std::string& name, H& heap,
                                                const Parameters& parameters) {
  if (name == "tpcc") {
    return std::make_unique<Tpcc<H>>(heap, parameters);
  }
  auto small = make_if_small(name, heap, parameters);
  if (small == nullptr) {
    throw_no_workload(name);
  }
  return small;
}

}  // namespace holdfast
