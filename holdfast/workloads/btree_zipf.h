// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/map.h"
#include "holdfast/workloads/parts/preset.h"

namespace holdfast {

/// B tree of EHOU (section 4.A), whose keys follow a Zipfian distribution. The paper takes the
/// workload from SSP and does not tell the mix; here each transaction puts or erases.
const WorkloadInfo& btree_zipf_info();

/// The registry's row.
using BtreeZipfWorkload = PresetRow<btree_zipf_info, MapWorkload>;

}  // namespace holdfast
