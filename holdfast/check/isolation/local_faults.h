// SPDX-License-Identifier: Apache-2.0
//
// Faults that a single transaction shows, without a graph: garbage read, aborted read (G1a),
// intermediate read (G1b), lost own write, future read, non-repeatable read. Also the lost update
// of two transactions that replaced the same version.
#pragma once

#include <vector>

#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/version_table.h"

namespace holdfast::check {

/// Returns up to `most` faults in the order of the history, lost updates last.
std::vector<Finding> local_faults(const VersionTable& versions, size_t most);

}  // namespace holdfast::check
