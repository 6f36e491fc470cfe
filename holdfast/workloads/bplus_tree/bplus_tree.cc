// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/bplus_tree/bplus_tree.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& bplus_tree_info() {
  static const WorkloadInfo info{
      "bplus-tree",
      "inserts of random keys into a B+tree with large sorted nodes (Hercules 5.1)",
      {{"size", "500000", "elements at the start; the paper inserts 1 million into an empty tree",
        "6"},
       {"node", "4096", "bytes of a node, a multiple of 16", "64"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"insert"},
      true,
      {"ack"}};
  return info;
}

}  // namespace holdfast
