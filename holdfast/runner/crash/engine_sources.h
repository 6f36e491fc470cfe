// SPDX-License-Identifier: Apache-2.0
//
// Engines as the source tree has them: the folder of each, its headers, and the labels in these.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "holdfast/base/status.h"

namespace holdfast {

/// An engine's part of the source tree. Paths are relative to holdfast/engines.
struct EngineSource {
  std::string name;
  std::filesystem::path folder;
  /// The header that the registry names, and each header below holdfast/engines that it includes.
  std::set<std::filesystem::path> files;
  /// Labels of sites (`Site{"label"}`), each with its files.
  std::map<std::string, std::set<std::filesystem::path>> labels;

  /// True if a header of this folder has the label.
  bool has_label_in(const std::filesystem::path& where, const std::string& label) const;
};

/// All engines in the order of the registry, CMakeLists.txt in `directory`. Empty: holdfast/engines
/// of the source tree. Errors: not_found for a file that is missing.
Result<std::vector<EngineSource>> read_engine_sources(const std::filesystem::path& directory = {});

/// The folder that read_engine_sources() reads by default.
std::filesystem::path engines_directory();

}  // namespace holdfast
