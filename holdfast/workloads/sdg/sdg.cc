// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/sdg/sdg.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& sdg_info() {
  static const WorkloadInfo info{
      "sdg",
      "edges inserted into and deleted from an R-MAT graph (Hercules 5.1)",
      {{"scale", "12", "the graph has 2^scale vertices, at most 2^20", "2"},
       {"degree", "32", "edges per vertex that may be there; half are at the start", "2"},
       {"bytes", "640", "record of a vertex, a multiple of 8", "72"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"toggle"},
      true,
      {"ack"}};
  return info;
}

}  // namespace holdfast
