// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/sps.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& sps_info() {
  static const WorkloadInfo info{"sps",
                                 "swaps of random entries of an array of 64-bit words",
                                 {{"entries", "10000", "words in the array"},
                                  {"swaps", "1", "swaps per transaction"},
                                  {"stores", "0",
                                   "instead: random entries stored to, 1 up to this number, chosen "
                                   "at random for each transaction"},
                                  {"ack", "0", kAckHelp},
                                  kPartitionsParameter,
                                  kCopiesParameter},
                                 {"swap"}};
  return info;
}

}  // namespace holdfast
