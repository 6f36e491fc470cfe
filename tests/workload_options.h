// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// The parameters with which a workload is small, as in crash searches.
inline std::map<std::string, std::string> tiny_parameters(const WorkloadInfo& workload) {
  std::map<std::string, std::string> given;
  for (const OptionInfo& parameter : workload.parameters) {
    if (parameter.tiny != nullptr) {
      given[parameter.name] = parameter.tiny;
    }
  }
  return given;
}

}  // namespace holdfast
