// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/parts/preset.h"

#include <algorithm>
#include <string>

namespace holdfast {

WorkloadInfo preset_of(const WorkloadInfo& base, const char* name, const char* title,
                       std::initializer_list<PresetValue> values) {
  WorkloadInfo info = base;
  info.name = name;
  info.title = title;
  info.preset_of = base.name;
  for (const PresetValue& given : values) {
    const auto found =
        std::find_if(info.parameters.begin(), info.parameters.end(),
                     [&](const OptionInfo& p) { return std::string(p.name) == given.parameter; });
    if (found == info.parameters.end()) {
      throw Error(Status(Code::not_found, std::string("workload ") + base.name +
                                              " has no parameter " + given.parameter));
    }
    found->fallback = given.value;
    found->root_types = {};
  }
  return info;
}

}  // namespace holdfast
