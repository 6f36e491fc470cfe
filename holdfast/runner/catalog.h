// SPDX-License-Identifier: Apache-2.0
//
// What there is. Each function gives a list of objects with at least name, supported (on this
// computer) and reason (why not; empty when supported).
#pragma once

#include "holdfast/runner/json.h"

namespace holdfast {

/// Also: title, paper, isolation, durability, layout, needs_htm, log, fences, options[] (name,
/// fallback, help).
Json engine_catalog();
/// Also: title, operations[], parameters[] (name, fallback, help).
Json workload_catalog();
/// native: processor, features, htm, domains; sim: what it models.
Json machine_catalog();

}  // namespace holdfast
