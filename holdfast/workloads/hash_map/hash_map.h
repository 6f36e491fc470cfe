// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/hash_table/hash_table.h"
#include "holdfast/workloads/parts/preset.h"

namespace holdfast {

/// Hash Map of EHOU (section 4.A): `hash-table` with the table that grows.
const WorkloadInfo& hash_map_info();

/// The registry's row.
using HashMapWorkload = PresetRow<hash_map_info, HashTableWorkload>;

}  // namespace holdfast
