// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "holdfast/machine/sim/memory/persist_lint.h"
#include "holdfast/machine/sim/threads/sim_counters.h"
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// The counters as JSON: counts, and times in nanoseconds summed over the threads.
Json to_json(const SimCounters& counters);

/// A hardware design's counters as JSON. `writes_by_cause` adds up to all writes that the
/// controller got; `media_writes` leaves out those that merged in its queue or were taken back.
/// `reads_by_cause` and the machine's `table_reads` add up to all reads; `media_reads` leaves out
/// those that the write queue served.
Json to_json(const DesignMeasurement& measured);

/// The findings as JSON: kind, where, count, example.
Json to_json(const std::vector<LintRow>& rows);

}  // namespace holdfast
