// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/designs.h"

#include <charconv>

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

Result<uint64_t> design_number(const DesignOptions& options, const DesignOptionInfo& info,
                               uint64_t low, uint64_t high) {
  const auto found = options.find(info.name);
  const std::string text = found == options.end() ? info.fallback : found->second;
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) {
    return Status(Code::invalid_argument, std::string("design option ") + info.name + "=" + text +
                                              " is not a whole number from " + std::to_string(low) +
                                              " to " + std::to_string(high));
  }
  return value;
}

}  // namespace holdfast
