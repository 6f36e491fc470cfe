// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/hash_table/hash_table.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& hash_table_info() {
  static const WorkloadInfo info{
      "hash-table",
      "inserts of keys with a payload into a hash table (Hercules 5.1, EHOU 4.A)",
      {{"structure", "fixed", "fixed (its number of buckets) or growing", nullptr, kHashTables},
       {"size", "10000", "elements at the start", "4"},
       {"buckets", "16384", "of fixed", "4"},
       {"bytes", "560", "payload of an element, a multiple of 8", "24"},
       {"removes", "0", kRemovesHelp},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"insert", "remove"},
      true,
      {"removes", "ack"}};
  return info;
}

}  // namespace holdfast
