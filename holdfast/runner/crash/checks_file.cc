// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/crash/checks_file.h"

#include <algorithm>

#include "holdfast/base/toml.h"

namespace holdfast {
namespace {

Json to_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) {
      object[std::string(key.str())] = to_json(value);
    }
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const toml::node& item : *array) {
      list.push_back(to_json(item));
    }
    return list;
  }
  if (const auto text = node.value<std::string>(); text && node.is_string()) {
    return *text;
  }
  if (const auto flag = node.value<bool>(); flag && node.is_boolean()) {
    return *flag;
  }
  if (const auto number = node.value<int64_t>(); number && node.is_integer()) {
    return *number;
  }
  return node.value<double>().value_or(0);
}

std::string place(const std::filesystem::path& file, const toml::source_region& source) {
  return file.string() + ":" + std::to_string(source.begin.line);
}

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Error(Status(Code::invalid_argument, where + ": " + what));
}

}  // namespace

std::vector<std::filesystem::path> checks_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().filename() == "checks.toml") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<CheckRow> read_checks_file(const std::filesystem::path& file) {
  try {
    const toml::table root = toml::parse_file(file.string());
    std::vector<CheckRow> all;
    for (const auto& [key, node] : root) {
      const std::string table(key.str());
      const toml::array* rows = node.as_array();
      if (rows == nullptr || !rows->is_homogeneous(toml::node_type::table)) {
        refuse(place(file, node.source()), "'" + table + "' is no array of tables");
      }
      for (const toml::node& row : *rows) {
        all.push_back({table, place(file, row.source()), to_json(row)});
      }
    }
    return all;
  } catch (const toml::parse_error& error) {
    refuse(place(file, error.source()), std::string(error.description()));
  }
}

}  // namespace holdfast
