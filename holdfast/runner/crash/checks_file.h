// SPDX-License-Identifier: Apache-2.0
//
// A checks.toml file as rows, before anything in it is understood.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "holdfast/runner/spec/json.h"

namespace holdfast {

struct CheckRow {
  std::string table;  ///< of the array: [[table]]
  std::string where;  ///< file:line
  Json fields;        ///< an object
};

/// The files named checks.toml below a directory, in the order of their paths.
std::vector<std::filesystem::path> checks_files(const std::filesystem::path& directory);

/// The rows of a file in its order. Throws Error(invalid_argument), naming file and line, for
/// anything but arrays of tables.
std::vector<CheckRow> read_checks_file(const std::filesystem::path& file);

}  // namespace holdfast
