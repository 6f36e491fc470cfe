// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/designs.h"

#include <utility>

#include "holdfast/hardware/opt/opt.h"
#include "holdfast/hardware/tc/transaction_cache.h"

namespace holdfast {

std::span<const DesignInfo> hardware_designs() {
  static const DesignInfo kDesigns[] = {
      opt_info(),
      tc_info(),
  };
  return kDesigns;
}

Result<const DesignInfo*> find_design(const std::string& name) {
  std::string known;
  for (const DesignInfo& info : hardware_designs()) {
    if (name == info.name) {
      return &info;
    }
    known += std::string(known.empty() ? "" : ", ") + info.name;
  }
  return Status(Code::not_found, "there is no hardware design '" + name + "'; there are " + known);
}

Result<std::unique_ptr<HardwareDesign>> make_design(const std::string& name,
                                                    const DesignOptions& options) {
  Result<const DesignInfo*> info = find_design(name);
  if (!info.ok()) {
    return info.status();
  }
  for (const auto& [option, value] : options) {
    std::string known;
    bool found = false;
    for (const DesignOptionInfo& candidate : (*info)->options) {
      found = found || option == candidate.name;
      known += std::string(known.empty() ? "" : ", ") + candidate.name;
    }
    if (!found) {
      std::string what = "hardware design '" + name;
      what.append("' has no option '").append(option).append("'; it has ");
      return Status(Code::invalid_argument, what.append(known.empty() ? "none" : known));
    }
  }
  return (*info)->make(options);
}

void use_design(SimOptions& options, const std::string& name, const DesignOptions& design_options) {
  options.design = name;
  options.make_design = nullptr;
  if (name.empty()) {
    return;
  }
  make_design(name, design_options).status().check();
  options.make_design = [name, design_options] {
    return make_design(name, design_options).value();
  };
}

}  // namespace holdfast
