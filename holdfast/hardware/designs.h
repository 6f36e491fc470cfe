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

/// Finds a design by its name, or loads one of the user's own: a name with a slash, or that ends in
/// ".so", is the path of a shared object (own_design.h). A relative path begins in the current
/// folder. The shared object stays loaded until the process ends, so the result is valid as long.
/// A file that has changed since its first loading is not loaded again.
///
/// Code::not_found, with a list of the right names, for an unknown name, and for a path without a
/// file. Code::wrong_format for a file that is no design, or was compiled for another interface.
/// Code::already_exists for one with the name of a design of the list above.
Result<const DesignInfo*> find_design(const std::string& name);

/// Makes a design. The errors of find_design(), and Code::invalid_argument for a wrong option; the
/// message lists the right ones.
Result<std::unique_ptr<HardwareDesign>> make_design(const std::string& name,
                                                    const Options& options);

/// Sets the hardware design of a machine that will be made with `options`, by name or path, and the
/// domain if the design is made for one. An empty name means none. Images have the design's own
/// name. Throws the errors of make_design() as Error.
void use_design(SimOptions& options, const std::string& name, const Options& design_options = {});

}  // namespace holdfast
