// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/spec/machines.h"

#include <algorithm>
#include <filesystem>

#include "holdfast/base/catalogue.h"

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
  if (const auto found = find_row("simulated machine", name_or_path, names); !found.ok()) {
    const std::string where = names.empty()
                                  ? "; " + machines_directory(directory) + " has no descriptions"
                                  : std::string();
    return Status(Code::not_found,
                  found.status().message() + where + "; a path must end in " + kExtension);
  }
  return load_machine(machines_directory(directory) + "/" + name_or_path + kExtension, changes);
}

}  // namespace holdfast
