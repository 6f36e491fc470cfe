// SPDX-License-Identifier: Apache-2.0
//
// Lists of all engines, workloads, machines and designs. Each function returns objects with at
// least name, supported (on this computer) and reason (why not; empty when supported).
#pragma once

#include <string>

#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// Engines for this computer, then those for simulated machines alone (simulated_only, and not
/// supported). Also: title, paper, isolation, durability, layout, needs_htm, needs_design,
/// needs_lasting_caches, lags, log, fences, options[] (name, fallback, help).
Json engine_catalog();
/// Also: title, operations[], parameters[] (name, fallback, help).
Json workload_catalog();
/// First `native`: model, features, htm_backends[] (name, supported, offers, reason), domains. Then
/// `sim`, which has no description and no time. Then the descriptions in `directory` (empty: that
/// of the source tree): cores (of all sockets), smt, threads, line_bytes, domains. All have also:
/// title, htm (its offers, or "none"). A description that cannot be read is not supported, and
/// reason says where it is wrong.
Json machine_catalog(const std::string& directory = {});
/// Hardware designs of simulated machines. Also: title, source, survives, options[] (name,
/// fallback, help).
Json design_catalog();

}  // namespace holdfast
