// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/binary_heap/binary_heap.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& binary_heap_info() {
  static const WorkloadInfo info{
      "binary-heap",
      "inserts into a binary heap, and removals of its least key (Hercules 5.1)",
      {{"size", "100000", "entries at the start", "3"},
       {"capacity", "0", "entries that fit; 0: twice the size and 1000 more", "5"},
       {"bytes", "16", "size of an entry with its key, a multiple of 8", "24"},
       {"inserts", "50", "per cent of the transactions that insert; the others remove"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"insert", "remove_min"},
      true,
      {"inserts", "ack"}};
  return info;
}

}  // namespace holdfast
