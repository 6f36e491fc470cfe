// SPDX-License-Identifier: Apache-2.0
//
// Checks whether a described machine is possible: rules that relate several values of a
// description. Ranges of single values are in machine_keys.h.
#pragma once

#include <optional>
#include <string>

#include "holdfast/machine/sim/description/machine_description.h"

namespace holdfast::sim {

struct MachineProblem {
  std::string table;  ///< a table of the description; empty for the values above all tables
  std::string key;
  std::string reason;
};

/// Returns the first rule that the machine breaks, or nothing.
std::optional<MachineProblem> find_problem(const MachineDescription& machine);

}  // namespace holdfast::sim
