// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/native_machine.h"
#include "holdfast/workloads/workload.h"

namespace holdfast {

/// The workload of this name on a heap of engine E; null when the name is not one of its group.
/// Defined in two generated translation units per engine, because TPC-C alone takes as long to
/// compile as the rest.
template <class E>
std::unique_ptr<WorkloadInstance> make_small_workload(const std::string& name, Heap<E>& heap,
                                                      const Parameters& parameters);
template <class E>
std::unique_ptr<WorkloadInstance> make_tpcc_workload(const std::string& name, Heap<E>& heap,
                                                     const Parameters& parameters);

}  // namespace holdfast
