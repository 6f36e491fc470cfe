// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/rbtree_insert/rbtree_insert.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& rbtree_insert_info() {
  static const WorkloadInfo info{
      "rbtree-insert",
      "inserts of random keys into a red-black tree with parent links (cc-HTM 5.3)",
      {{"size", "1000000", "elements at the start; the paper has 1 million", "6"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"insert"},
      true,
      {"ack"}};
  return info;
}

}  // namespace holdfast
