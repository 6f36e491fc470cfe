// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/ssca2/ssca2.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& ssca2_info() {
  static const WorkloadInfo info{
      "ssca2",
      "construction of an R-MAT graph, kernel 1 of SSCA2 (cc-HTM 5.1)",
      {{"scale", "16", "the graph has 2^scale vertices, at most 2^20; the paper has 2^20", "2"},
       {"degree", "43", "edges per vertex on average; the paper has more than 45 million", "2"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"add_edge", "remove_edge"},
      true,
      {"ack"}};
  return info;
}

}  // namespace holdfast
