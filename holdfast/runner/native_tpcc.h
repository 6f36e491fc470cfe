// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/native_machine.h"
#include "holdfast/workloads/workload.h"

namespace holdfast {

/// TPC-C on a heap of engine E; null when the name is another workload's. Defined in a translation
/// unit of its own, because it takes as long to compile as the other workloads together.
template <class E>
std::unique_ptr<WorkloadInstance> make_tpcc_workload(const std::string& name, Heap<E>& heap,
                                                     const Parameters& parameters);

}  // namespace holdfast
