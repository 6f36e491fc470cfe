// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/parts/preset.h"
#include "holdfast/workloads/tpcc/tpcc.h"

namespace holdfast {

/// TPC-C of Hercules (section 5.5): new-orders alone.
const WorkloadInfo& tpcc_neworder_info();

/// The registry's row.
using TpccNeworderWorkload = PresetRow<tpcc_neworder_info, TpccWorkload>;

}  // namespace holdfast
