// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/registry.h"

#include <vector>

#include "holdfast/base/catalogue.h"

namespace holdfast {
namespace {

template <class... Large, class... Small>
std::vector<const WorkloadInfo*> infos_of(WorkloadList<Large...>, WorkloadList<Small...>) {
  return {&Large::info()..., &Small::info()...};
}

}  // namespace

std::span<const WorkloadInfo* const> workload_infos() {
  static const std::vector<const WorkloadInfo*> kInfos =
      infos_of(LargeWorkloads{}, SmallWorkloads{});
  return kInfos;
}

Result<const WorkloadInfo*> find_workload(const std::string& name) {
  return find_row("workload", name, workload_infos());
}

}  // namespace holdfast
