// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/spec/machines.h"

#include <algorithm>
#include <filesystem>

namespace holdfast {
namespace {

constexpr const char* kExtension = ".toml";

}  // namespace

std::string machines_directory(const std::string& given) {
  return given.empty() ? HOLDFAST_MACHINES_DIR : given;
}

std::vector<std::string> machine_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator files(machines_directory(directory), error);
  for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
    if (files->path().extension() == kExtension) {
      names.push_back(files->path().stem());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<MachineDescription> find_machine(const std::string& name_or_path,
                                        const std::string& directory,
                                        const MachineChanges& changes) {
  if (name_or_path.ends_with(kExtension)) {
    return load_machine(name_or_path, changes);
  }
  const std::vector<std::string> names = machine_names(directory);
  if (std::find(names.begin(), names.end(), name_or_path) != names.end()) {
    return load_machine(machines_directory(directory) + "/" + name_or_path + kExtension, changes);
  }
  std::string right;
  for (const std::string& name : names) {
    right += (right.empty() ? "there are " : ", ") + name;
  }
  if (names.empty()) {
    right = machines_directory(directory) + " has no descriptions";
  }
  return Status(Code::not_found, "no simulated machine '" + name_or_path + "'; " + right +
                                     "; a path must end in " + kExtension);
}

}  // namespace holdfast
