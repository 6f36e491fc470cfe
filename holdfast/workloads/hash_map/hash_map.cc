// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/hash_map/hash_map.h"

namespace holdfast {

const WorkloadInfo& hash_map_info() {
  static const WorkloadInfo info = preset_of(
      hash_table_info(), "hash-map",
      "inserts of keys with a payload into a growing hash table (EHOU 4.A); a preset of hash-table",
      {{"structure", "growing"}});
  return info;
}

}  // namespace holdfast
