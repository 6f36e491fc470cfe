// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/list.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& list_info() {
  static const WorkloadInfo info{
      "list",
      "set of integers in a sorted linked list",
      {{"size", "1000", "keys at the start", "8"},
       {"range", "0", kRangeHelp},
       {"keys", "uniform", kKeysHelp},
       {"skew", "0.99", kSkewHelp},
       {"update", "20", "per cent of operations that insert or erase, half and half", "60"},
       {"pairs", "0", kPairsHelp},
       {"writers", "0", kWritersHelp},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"lookup", "insert", "erase"},
      true};
  return info;
}

}  // namespace holdfast
