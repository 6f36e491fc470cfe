// SPDX-License-Identifier: Apache-2.0
//
// Could there be such a machine? What no single number of a description can say.
#pragma once

#include <optional>
#include <string>

#include "holdfast/machine/sim/description/machine_description.h"

namespace holdfast::sim {

struct MachineProblem {
  std::string table;  ///< of the description; empty for the values above all tables
  std::string key;
  std::string reason;
};

/// The first thing that is impossible about the machine, or nothing.
std::optional<MachineProblem> find_problem(const MachineDescription& machine);

}  // namespace holdfast::sim
