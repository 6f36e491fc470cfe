// SPDX-License-Identifier: Apache-2.0
//
// Canaries: planted bugs that the crash explorer must find. A missed canary is a fault of the
// explorer.
#pragma once

#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/runner/crash/engine_checks.h"
#include "holdfast/runner/spec/json.h"
#include "holdfast/runner/spec/progress.h"

namespace holdfast {

/// The canaries of all durable engines, in the order of the registry.
Result<std::vector<Canary>> load_canaries();

/// Looks for a violation under a mutation. Runs searches from cheap to thorough and stops at the
/// first that finds one; a search that would repeat the one before is left out. Fields of spec:
/// engine, mutation, the settings in a canary's `needs`, and searches (the most to run; default
/// all). Returns crash()'s object of the search that found a violation, else of the last one, with
/// `stage` (from 1) and `stages`.
Result<Json> hunt(const Json& spec, Progress progress);
Json spec_of(const Canary& canary);

/// An object by engine: canaries (an object from mutation to needs) and harmless (from mutation to
/// reason).
Result<Json> planted_bug_catalog();

}  // namespace holdfast
