// SPDX-License-Identifier: Apache-2.0
//
// Which workloads there are; all.h makes them. Cheap to include.
#pragma once

#include <string>
#include <vector>

#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

const std::vector<const WorkloadInfo*>& workload_infos();

/// Null when there is no workload of this name.
const WorkloadInfo* find_workload_info(const std::string& name);

/// Throws Error(invalid_argument), listing the right names, when there is none.
[[noreturn]] void throw_no_workload(const std::string& name);

}  // namespace holdfast
