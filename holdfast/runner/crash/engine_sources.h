// SPDX-License-Identifier: Apache-2.0
//
// Engines as the source tree has them: the folder of each, its headers, and the labels and probes
// in these.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "holdfast/base/status.h"

namespace holdfast {

/// Names that headers have, each with its files.
using NamesOfHeaders = std::map<std::string, std::set<std::filesystem::path>>;

/// An engine's part of the source tree. Paths are relative to holdfast/engines.
struct EngineSource {
  std::string name;
  std::filesystem::path folder;
  /// The header that the registry names, and each header below holdfast/engines that it includes.
  std::set<std::filesystem::path> files;
  NamesOfHeaders labels;  ///< of sites: `Site{"label"}`
  NamesOfHeaders probes;  ///< of rare paths: `Probe{"name"}`
};

/// True if a header of this folder has the name.
bool has_name_in(const NamesOfHeaders& names, const std::filesystem::path& where,
                 const std::string& name);

/// All engines in the order of the registry, CMakeLists.txt in `directory`. Empty: holdfast/engines
/// of the source tree. Errors: not_found for a file that is missing.
Result<std::vector<EngineSource>> read_engine_sources(const std::filesystem::path& directory = {});

/// The probes in the headers below a folder. Errors: as above.
Result<std::set<std::string>> probes_below(const std::filesystem::path& directory);

/// The folder that read_engine_sources() reads by default.
std::filesystem::path engines_directory();

}  // namespace holdfast
