// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/machine/sim/sim_counters.h"
#include "holdfast/runner/json.h"

namespace holdfast {

/// Counts as they are, times in nanoseconds summed over the threads.
Json to_json(const SimCounters& counters);

}  // namespace holdfast
