// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/rbtree_zipf.h"

namespace holdfast {

const WorkloadInfo& rbtree_zipf_info() {
  static const WorkloadInfo info =
      preset_of(map_info(), "rbtree-zipf",
                "puts and erases of Zipfian keys in a red-black tree (EHOU 4.A); a preset of map",
                {{"structure", "rbtree"}, {"keys", "zipf"}, {"update", "100"}});
  return info;
}

}  // namespace holdfast
