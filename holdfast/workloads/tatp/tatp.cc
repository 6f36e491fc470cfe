// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/tatp/tatp.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& tatp_info() {
  static const WorkloadInfo info{
      "tatp",
      "the seven transactions of TATP on a home location register (EHOU 4.A)",
      {{"subscribers", "100000", "of the population; the smallest of the description", "3"},
       {"mix", "standard",
        "standard (80 % queries, 16 % updates, 2 % inserts, 2 % deletes), or weights as "
        "get_subscriber_data:35,get_new_destination:10,get_access_data:35,"
        "update_subscriber_data:2,update_location:14,insert_call_forwarding:2,"
        "delete_call_forwarding:2",
        "get_subscriber_data:1,get_new_destination:2,get_access_data:1,update_subscriber_data:2,"
        "update_location:2,insert_call_forwarding:2,delete_call_forwarding:2"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {tatp::kOperations.begin(), tatp::kOperations.end()},
      true,
      {"mix", "ack"}};
  return info;
}

Result<Weights> parse_tatp_mix(const std::string& text) {
  if (text == "standard") {
    return Weights({35, 10, 35, 2, 14, 2, 2});
  }
  auto weights = Weights::parse(text, tatp_info().operations);
  if (!weights.ok()) {
    return Status(Code::invalid_argument, "parameter mix=" + text +
                                              " is not standard, and as weights of transactions: " +
                                              weights.status().message());
  }
  return weights;
}

}  // namespace holdfast
