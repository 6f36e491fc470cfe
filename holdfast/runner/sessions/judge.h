// SPDX-License-Identifier: Apache-2.0
//
// What looks at a heap of this computer while nothing runs on it: the same for every engine.
#pragma once

#include <memory>
#include <string>

#include "holdfast/heap/heap_at_rest.h"
#include "holdfast/runner/sessions/session.h"
#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// The workload as judge over `heap`, which it refers to. Throws as make_workload does.
std::unique_ptr<WorkloadInstance> make_judge(const std::string& name, HeapAtRest& heap,
                                             const Parameters& parameters);

/// The allocator, and whatever workload the roots belong to. Roots of other programs are listed as
/// unknown: what they own cannot be told from leaks. Throws Error when the heap cannot be read.
HeapFindings walk(HeapAtRest& heap);

}  // namespace holdfast
