// SPDX-License-Identifier: Apache-2.0
//
// The registry of hardware designs. The simulated machine knows none of them by name: use_design()
// hands it a factory.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "holdfast/machine/sim/description/sim_options.h"
#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

/// All designs. To add one, write a folder in holdfast/hardware and one line in designs.cc.
std::span<const DesignInfo> hardware_designs();

/// Returns not_found for an unknown name; the message lists the names there are.
Result<const DesignInfo*> find_design(const std::string& name);

/// Returns not_found for an unknown name and invalid_argument for a wrong option; the message lists
/// what there is.
Result<std::unique_ptr<HardwareDesign>> make_design(const std::string& name,
                                                    const Options& options);

/// Gives the machine to be made this design; an empty name means none. Throws Error as make_design
/// reports it.
void use_design(SimOptions& options, const std::string& name, const Options& design_options = {});

}  // namespace holdfast
