// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sessions/engine_table.h"

#include <filesystem>
#include <system_error>

#include "holdfast/base/catalogue.h"

namespace holdfast {

std::vector<std::string> engine_names(bool with_plain) {
  std::vector<std::string> names;
  if (with_plain) {
    names.emplace_back(kPlain);
  }
  for (const NativeEngine& engine : native_engines()) {
    names.emplace_back(engine.description->name);
  }
  return names;
}

Result<const NativeEngine*> find_native_engine(const std::string& name) {
  return find_row("engine", name, native_engines());
}

Result<std::unique_ptr<Session>> open_session(const SessionSpec& spec) {
  if (spec.engine == kPlain) {
    return open_plain_session(spec);
  }
  auto engine = find_native_engine(spec.engine);
  if (!engine.ok()) {
    return engine.status();
  }
  if (spec.path.empty()) {
    return Status(Code::invalid_argument, "a heap needs a path");
  }
  SessionSpec resolved = spec;
  if (spec.open == SessionSpec::Open::create_or_open) {
    std::error_code error;
    resolved.open = std::filesystem::exists(spec.path, error) ? SessionSpec::Open::open
                                                              : SessionSpec::Open::create;
  }
  return (*engine)->open(resolved);
}

}  // namespace holdfast
