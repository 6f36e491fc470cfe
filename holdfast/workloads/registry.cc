// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/registry.h"

#include "holdfast/workloads/parts/infos.h"
#include "holdfast/workloads/tpcc/options.h"

namespace holdfast {

const std::vector<const WorkloadInfo*>& workload_infos() {
  static const std::vector<const WorkloadInfo*> infos{&tpcc::info(), &intset_info(),   &sps_info(),
                                                      &map_info(),   &list_info(),     &bank_info(),
                                                      &ring_info(),  &registers_info()};
  return infos;
}

const WorkloadInfo* find_workload_info(const std::string& name) {
  for (const WorkloadInfo* info : workload_infos()) {
    if (name == info->name) {
      return info;
    }
  }
  return nullptr;
}

void throw_no_workload(const std::string& name) {
  std::string known;
  for (const WorkloadInfo* info : workload_infos()) {
    known += (known.empty() ? "" : ", ") + std::string(info->name);
  }
  throw Error(Status(Code::invalid_argument, "no workload '" + name + "'; there are " + known));
}

}  // namespace holdfast
