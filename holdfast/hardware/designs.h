// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>

#include "holdfast/hardware/design.h"

namespace holdfast {

struct DesignOptionInfo {
  const char* name;
  const char* fallback;
  const char* help;
};

/// A line of the table of designs.
struct DesignInfo {
  const char* name;
  const char* title;
  const char* source;    ///< the paper
  const char* survives;  ///< what is there after a power failure
  std::span<const DesignOptionInfo> options;
  /// Options are known by name; their values are checked here.
  Result<std::unique_ptr<HardwareDesign>> (*make)(const DesignOptions& options);
};

/// All designs. A new one is a folder in holdfast/hardware and a line in designs.cc.
std::span<const DesignInfo> hardware_designs();

/// not_found and invalid_argument name what there is.
Result<const DesignInfo*> find_design(const std::string& name);
Result<std::unique_ptr<HardwareDesign>> make_design(const std::string& name,
                                                    const DesignOptions& options);

/// Reads a whole number option of a design.
Result<uint64_t> design_number(const DesignOptions& options, const DesignOptionInfo& info,
                               uint64_t low, uint64_t high);

}  // namespace holdfast
