// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// The structures that `map` can be over.
inline constexpr std::array kMapStructures = {"hash", "fixed", "rbtree", "btree"};

/// What the small workloads are called, their parameters and their kinds of operation.
const WorkloadInfo& intset_info();
const WorkloadInfo& sps_info();
const WorkloadInfo& map_info();
const WorkloadInfo& list_info();
const WorkloadInfo& bank_info();
const WorkloadInfo& ring_info();
const WorkloadInfo& registers_info();

}  // namespace holdfast
