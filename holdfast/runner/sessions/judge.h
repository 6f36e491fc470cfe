// SPDX-License-Identifier: Apache-2.0
//
// Checks of a native heap at rest, compiled once for all engines.
#pragma once

#include <memory>
#include <string>

#include "holdfast/heap/heap_at_rest.h"
#include "holdfast/runner/sessions/session.h"
#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// Makes the workload as a judge over `heap`, which must outlive it. Throws as make_workload does.
std::unique_ptr<WorkloadInstance> make_judge(const std::string& name, HeapAtRest& heap,
                                             const Parameters& parameters);

/// Walks the allocator, and the workload that each root belongs to. Roots of other programs are
/// listed as unknown: the walk cannot tell their blocks from leaks. Throws Error when the heap
/// cannot be read.
HeapFindings walk(HeapAtRest& heap);

}  // namespace holdfast
