// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/heap/heap_check.h"
#include "holdfast/heap/roots.h"
#include "holdfast/runner/json.h"

namespace holdfast {

/// The findings of a walk over a heap: ok, problems[], and what was counted.
Json to_json(const HeapCheck& check);

/// A root as `info`, `check` and `dump` list it.
Json to_json(const RootInfo& root);

/// Adds one more finding to a report made by to_json(HeapCheck).
void add_problem(Json& report, const std::string& problem);

}  // namespace holdfast
