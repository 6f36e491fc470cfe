// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/array_swap/array_swap.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& array_swap_info() {
  static const WorkloadInfo info{
      "array-swap",
      "swaps of random elements of several lines (Hercules 5.1)",
      {{"entries", "65536", "elements of the array", "4"},
       {"bytes", "256", "size of an element, a multiple of 8; each element begins a line", "72"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"swap"},
      true,
      {"ack"}};
  return info;
}

}  // namespace holdfast
