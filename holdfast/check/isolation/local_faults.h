// SPDX-License-Identifier: Apache-2.0
//
// What no transaction may see, whatever the others do: faults that need no graph, each with its own
// name. Garbage read, aborted read (G1a), intermediate read (G1b), lost own write, future read,
// non-repeatable read, and lost update where two transactions replaced the same version.
#pragma once

#include <vector>

#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/version_table.h"

namespace holdfast::check {

/// At most `most`, in the order of the history, lost updates last.
std::vector<Finding> local_faults(const VersionTable& versions, size_t most);

}  // namespace holdfast::check
