// SPDX-License-Identifier: Apache-2.0
//
// The facts about a hardware design: its name, its options, and its factory. Each design has one
// such row; holdfast/hardware/designs.h lists them.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "holdfast/base/options.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/sim/design/design.h"

namespace holdfast {

/// A row of the table of designs.
struct DesignInfo {
  const char* name;
  const char* title;
  const char* source;    ///< the paper
  const char* survives;  ///< the content of the medium after a power failure, in words
  bool durable;          ///< a committed transaction survives a power failure
  /// The domain that the design is made for; nothing: it runs in pmem and in eadr.
  std::optional<Domain> domain = {};
  std::span<const OptionInfo> options;
  /// Makes the design. The caller has checked the names of the options; this function checks their
  /// values.
  Result<std::unique_ptr<HardwareDesign>> (*make)(const Options& options);
};

}  // namespace holdfast
