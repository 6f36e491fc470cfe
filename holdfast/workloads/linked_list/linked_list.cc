// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/linked_list/linked_list.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& linked_list_info() {
  static const WorkloadInfo info{
      "linked-list",
      "inserts of elements with a payload in front of a list (Hercules 5.1)",
      {{"size", "1000", "elements at the start", "3"},
       {"bytes", "560", "payload of an element, a multiple of 8", "24"},
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
