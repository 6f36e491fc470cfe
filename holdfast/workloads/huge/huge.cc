// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/huge/huge.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& huge_info() {
  static const WorkloadInfo info{
      "huge",
      "transactions that change thousands of contiguous lines (Hercules 5.2)",
      {{"lines", "1000", "lines that a transaction changes; the paper has up to 60000", "4"},
       {"regions", "1", "so many times the lines, which transactions change in turn", "2"},
       {"bytes", "64", "bytes changed in each line, a multiple of 8", "8"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"update"},
      true,
      {"ack"}};
  return info;
}

}  // namespace holdfast
