// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/map.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& map_info() {
  static const WorkloadInfo info{
      "map",
      "map of integers to words: find, put and erase",
      {{"structure", "hash", "hash (grows), fixed (hash), rbtree or btree", nullptr,
        kMapStructures},
       {"size", "10000", "keys at the start", "8"},
       {"buckets", "0", "of fixed; 0 means as many as keys at the start"},
       {"range", "0", kRangeHelp},
       {"keys", "uniform", kKeysHelp},
       {"skew", "0.99", kSkewHelp},
       {"update", "20", "per cent of operations that put or erase, half and half", "60"},
       {"pairs", "0", kPairsHelp},
       {"writers", "0", kWritersHelp},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"find", "put", "erase"},
      true};
  return info;
}

}  // namespace holdfast
