// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/ring/ring.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& ring_info() {
  static const WorkloadInfo info{
      "ring",
      "a cycle of nodes, permuted by swapping links",
      {{"nodes", "64", "length of the cycle", "8"},
       {"walk", "10", "per cent of operations that walk the whole cycle", "30"},
       {"ack", "1", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"swap", "move", "walk"},
      true};
  return info;
}

}  // namespace holdfast
