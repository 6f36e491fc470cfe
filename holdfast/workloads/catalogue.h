// SPDX-License-Identifier: Apache-2.0
//
// Descriptions of the workloads by name, without the code that runs them (that is registry.h).
#pragma once

#include <span>
#include <string>

#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// All workloads, in the order of the registry.
std::span<const WorkloadInfo* const> workload_infos();

/// Returns not_found for an unknown name; the message lists the known ones.
Result<const WorkloadInfo*> find_workload(const std::string& name);

}  // namespace holdfast
