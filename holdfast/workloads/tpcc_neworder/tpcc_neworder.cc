// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/tpcc_neworder/tpcc_neworder.h"

namespace holdfast {

const WorkloadInfo& tpcc_neworder_info() {
  static const WorkloadInfo info = preset_of(
      tpcc::info(), "tpcc-neworder", "new-orders of TPC-C alone (Hercules 5.5); a preset of tpcc",
      {{"mix", "neworder"}});
  return info;
}

}  // namespace holdfast
