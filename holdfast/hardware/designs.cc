// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/designs.h"

#include "holdfast/base/catalogue.h"
#include "holdfast/hardware/hercules/hercules.h"
#include "holdfast/hardware/opt/opt.h"
#include "holdfast/hardware/tc/transaction_cache.h"

namespace holdfast {

std::span<const DesignInfo> hardware_designs() {
  static const DesignInfo kDesigns[] = {
      opt_info(),
      tc_info(),
      hercules_info(),
  };
  return kDesigns;
}

Result<const DesignInfo*> find_design(const std::string& name) {
  return find_row("hardware design", name, hardware_designs());
}

Result<std::unique_ptr<HardwareDesign>> make_design(const std::string& name,
                                                    const Options& options) {
  Result<const DesignInfo*> info = find_design(name);
  if (!info.ok()) {
    return info.status();
  }
  if (Status status =
          check_option_names("hardware design '" + name + "'", "option", (*info)->options, options);
      !status.ok()) {
    return status;
  }
  return (*info)->make(options);
}

void use_design(SimOptions& options, const std::string& name, const Options& design_options) {
  options.design = name;
  options.make_design = nullptr;
  if (name.empty()) {
    return;
  }
  make_design(name, design_options).status().check();
  options.domain = find_design(name).value()->domain.value_or(options.domain);
  options.make_design = [name, design_options] {
    return make_design(name, design_options).value();
  };
}

}  // namespace holdfast
