// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/btree_zipf.h"

namespace holdfast {

const WorkloadInfo& btree_zipf_info() {
  static const WorkloadInfo info =
      preset_of(map_info(), "btree-zipf",
                "puts and erases of Zipfian keys in a B+tree (EHOU 4.A); a preset of map",
                {{"structure", "btree"}, {"keys", "zipf"}, {"update", "100"}});
  return info;
}

}  // namespace holdfast
