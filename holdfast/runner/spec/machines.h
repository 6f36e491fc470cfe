// SPDX-License-Identifier: Apache-2.0
//
// Descriptions of simulated machines, by name: the files of one directory.
//
// The directory is experiments/machines of the source tree this library was built from. An
// installed wheel has a copy in its package, and Python hands its path down with every call
// (python/holdfast/core.py), so that nothing here has to know where it is installed.
#pragma once

#include <string>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/machine/sim/description/machine_description.h"

namespace holdfast {

/// `given`, or the directory of the source tree when that is empty.
std::string machines_directory(const std::string& given);

/// The names find_machine knows, sorted; none if the directory cannot be read.
std::vector<std::string> machine_names(const std::string& directory = {});

/// A path that ends in .toml is read as it is; anything else is the name of a file in `directory`.
/// not_found lists the right names.
Result<MachineDescription> find_machine(const std::string& name_or_path,
                                        const std::string& directory = {},
                                        const MachineChanges& changes = {});

}  // namespace holdfast
