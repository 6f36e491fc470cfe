// SPDX-License-Identifier: Apache-2.0
//
// Facts about engines that stand in the source tree: their checks.toml, and the rare paths that
// their sources name.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "holdfast/runner/crash/engine_checks.h"
#include "holdfast/runner/crash/engine_sources.h"
#include "tests/sanitized.h"

namespace holdfast {

/// Facts that stand beside the engine.
inline const EngineChecks& checks_of(const std::string& engine) {
  static const auto all = load_engine_checks().value();
  return all.at(engine);
}

/// The rare paths that the engine's sources name.
inline std::vector<std::string> probes_of(const std::string& engine) {
  static const auto all = read_engine_sources().value();
  std::vector<std::string> names;
  for (const EngineSource& source : all) {
    for (const auto& [name, files] : source.probes) {
      if (source.name == engine) {
        names.push_back(name);
      }
    }
  }
  return names;
}

/// How often a suite has taken each rare path.
using ProbesTaken = std::map<std::string, uint64_t>;

/// The paths of `names` that were not taken, without those that are argued away.
inline std::vector<std::string> not_taken(const std::vector<std::string>& names,
                                          const std::vector<UnreachedProbe>& argued,
                                          const ProbesTaken& taken) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const bool excused = std::any_of(argued.begin(), argued.end(),
                                     [&](const UnreachedProbe& row) { return row.name == name; });
    if (!excused && taken.count(name) == 0) {
      missing.push_back(name);
    }
  }
  return missing;
}

/// Prints how often each path was taken. Fails for each one that was not, and for each one that is
/// argued away and was taken all the same.
inline void expect_taken(const std::string& engine, const std::vector<std::string>& names,
                         const std::vector<UnreachedProbe>& argued, const ProbesTaken& taken) {
  for (const std::string& name : names) {
    const auto found = taken.find(name);
    std::printf("  %-32s %8llu\n", name.c_str(),
                static_cast<unsigned long long>(found == taken.end() ? 0 : found->second));
  }
  if (kSanitized) {
    return;  // a sanitizer's run is too short
  }
  for (const std::string& name : not_taken(names, argued, taken)) {
    ADD_FAILURE() << engine << ": nothing takes the rare path " << name
                  << ". Give the engine a variant in its checks.toml that does, or a row "
                     "[[unreached]] with the reason";
  }
  for (const UnreachedProbe& row : argued) {
    EXPECT_TRUE(row.by_chance || taken.count(row.name) == 0)
        << engine << " takes " << row.name << ", which checks.toml calls unreached";
  }
}

}  // namespace holdfast
