// SPDX-License-Identifier: Apache-2.0
//
// Canaries: planted bugs that the crash explorer must catch, or it has gone blind.
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

/// Looks for a violation under a mutation, with the searches of hunt_stages() one after the other,
/// and stops at the first; one that would repeat the one before it is left out. spec: engine,
/// mutation, what a canary may need, and searches: how many of them at most (default: all). Returns
/// crash()'s object of the search that found one, else of the last, with `stage` (from 1) and
/// `stages`.
Result<Json> hunt(const Json& spec, Progress progress);
Json spec_of(const Canary& canary);

}  // namespace holdfast
