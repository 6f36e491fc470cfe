// SPDX-License-Identifier: Apache-2.0
//
// hardware/: hardware designs for atomic durability, one folder each, and their registry. The
// simulated machine knows no design by name; use_design() gives it a factory.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "holdfast/machine/sim/description/sim_options.h"
#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

/// All designs. To add one, write a folder in holdfast/hardware and one line in designs.cc.
std::span<const DesignInfo> hardware_designs();

/// Code::not_found, with a list of the right names, for an unknown name.
Result<const DesignInfo*> find_design(const std::string& name);

/// Makes a design. Code::not_found for an unknown name and Code::invalid_argument for a wrong
/// option; the message lists the right ones.
Result<std::unique_ptr<HardwareDesign>> make_design(const std::string& name,
                                                    const Options& options);

/// Sets the hardware design of a machine that will be made with `options`, and the domain if the
/// design is made for one. An empty name means none. Throws the errors of make_design() as Error.
void use_design(SimOptions& options, const std::string& name, const Options& design_options = {});

}  // namespace holdfast
