// SPDX-License-Identifier: Apache-2.0
//
// Canaries: planted bugs that the crash explorer must find. A missed canary is a fault of the
// explorer.
#pragma once

#include <string>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/runner/spec/json.h"
#include "holdfast/runner/spec/progress.h"

namespace holdfast {

/// A row of experiments/canaries/*.toml; docs/inside/testing.md says what the fields mean.
struct Canary {
  std::string engine;
  std::string mutation;
  std::string bug;
  Json needs;  ///< an object
};

/// The rows of all files in a directory; an error says where one is wrong. Empty: the source
/// tree's.
Result<std::vector<Canary>> load_canaries(const std::string& directory = {});

/// Looks for a violation under a mutation. Runs searches from cheap to thorough and stops at the
/// first that finds one; a search that would repeat the one before is left out. Fields of spec:
/// engine, mutation, the settings in a canary's `needs`, and searches (the most to run; default
/// all). Returns crash()'s object of the search that found a violation, else of the last one, with
/// `stage` (from 1) and `stages`.
Result<Json> hunt(const Json& spec, Progress progress);
Json spec_of(const Canary& canary);

}  // namespace holdfast
