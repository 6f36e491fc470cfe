// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/hash_update/hash_update.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& hash_update_info() {
  static const WorkloadInfo info{
      "hash-update",
      "stores to random elements of a large array (cc-HTM 5.2)",
      {{"entries", "8388608", "64-bit words in the array; the paper has 64 MB", "8"},
       {"updates", "10", "elements that a transaction accesses, at most 63", "3"},
       {"reads", "0", "per cent of these accesses that read; the others store", "34"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"update"},
      true,
      {"updates", "reads", "ack"}};
  return info;
}

}  // namespace holdfast
