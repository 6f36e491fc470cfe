// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/map.h"
#include "holdfast/workloads/parts/preset.h"

namespace holdfast {

/// RB tree of EHOU (section 4.A), whose keys follow a Zipfian distribution; see btree_zipf.h.
const WorkloadInfo& rbtree_zipf_info();

/// The registry's row.
using RbtreeZipfWorkload = PresetRow<rbtree_zipf_info, MapWorkload>;

}  // namespace holdfast
