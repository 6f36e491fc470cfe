// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/array_stream/array_stream.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& array_stream_info() {
  static const WorkloadInfo info{
      "array-stream",
      "updates of the elements of an array in streaming order (EHOU 4.A)",
      {{"entries", "1048576", "elements of the array, rounded up to whole transactions", "6"},
       {"elements", "8", "elements that a transaction updates", "2"},
       {"bytes", "64", "size of an element, a multiple of 8; each element begins a line", "16"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"update"},
      true,
      {"ack"}};
  return info;
}

}  // namespace holdfast
