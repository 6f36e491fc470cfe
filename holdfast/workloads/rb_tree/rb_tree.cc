// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/rb_tree/rb_tree.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& payload_tree_info() {
  static const WorkloadInfo info{
      "rb-tree",
      "inserts of keys with a payload into a red-black tree (Hercules 5.1)",
      {{"size", "10000", "elements at the start", "4"},
       {"bytes", "2688", "payload of an element, a multiple of 8", "24"},
       {"removes", "0", kRemovesHelp},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"insert", "remove"},
      true,
      {"removes", "ack"}};
  return info;
}

}  // namespace holdfast
