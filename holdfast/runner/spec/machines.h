// SPDX-License-Identifier: Apache-2.0
//
// Descriptions of simulated machines, by name: the files of one directory.
//
// The directory is experiments/machines of the source tree this library was built from. An
// installed wheel has a copy in its package. Python passes that path with every call
// (python/holdfast/core.py), so this code does not depend on the place of installation.
#pragma once

#include <string>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/machine/sim/description/machine_description.h"

namespace holdfast {

/// `given`, or the directory of the source tree when that is empty.
std::string machines_directory(const std::string& given);

/// Returns the names find_machine knows, sorted; an unreadable directory gives none.
std::vector<std::string> machine_names(const std::string& directory = {});

/// Reads a path that ends in .toml as it is. Any other text is the name of a file in `directory`.
/// Returns not_found, with the list of names, for an unknown one.
Result<MachineDescription> find_machine(const std::string& name_or_path,
                                        const std::string& directory = {},
                                        const MachineChanges& changes = {});

}  // namespace holdfast
