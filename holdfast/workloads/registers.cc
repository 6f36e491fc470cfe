// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/registers.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& registers_info() {
  static const WorkloadInfo info{
      "registers",
      "a few words; every write is unique and names its worker and its place in the worker's order",
      {{"count", "8", "number of words, each in a line of its own"},
       {"writes", "2", "words written by an update"},
       {"scan", "50", "per cent of operations that read all words"},
       kPartitionsParameter,
       kCopiesParameter},
      {"write", "scan"}};
  return info;
}

}  // namespace holdfast
