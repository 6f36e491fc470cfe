// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/bank/bank.h"

#include "holdfast/workloads/parts/parameter_help.h"

namespace holdfast {

const WorkloadInfo& bank_info() {
  static const WorkloadInfo info{
      "bank",
      "transfers between accounts, and audits of the total",
      {{"accounts", "1000", "number of accounts", "6"},
       {"balance", "1000", "of each account at the start"},
       {"audit", "10", "per cent of operations that read all accounts", "30"},
       {"ack", "1", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"transfer", "audit"},
      true};
  return info;
}

}  // namespace holdfast
