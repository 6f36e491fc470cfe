// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "holdfast/engines/parts/basics/log_replay.h"
#include "holdfast/machine/machine.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// Logs that were filled by `threads` threads and then replayed, on whatever machine.
struct MeasuredReplay {
  std::string workload;
  std::string engine;
  int threads = 1;
  ReplayOptions options;
  ReplayReport report = {};
  double seconds = 0;  ///< 0: on a machine without time
  PersistCounters persist = {};

  std::string name() const;
};

/// The fields every such entry of Google Benchmark's schema has: replayers, filter, iterations
/// (transactions), real_time (nanoseconds per transaction), items_per_second (transactions),
/// words (logged), bytes_written (to the home), replay_seconds, persist.
Json replay_entry(const MeasuredReplay& measured);

/// The same where there is no result.
Json failed_replay_entry(const MeasuredReplay& measured, const std::string& why);

/// What to say of an engine whose log cannot be replayed by itself, if it is one: `known` can.
Status check_replays(const std::vector<std::string>& engines,
                     const std::vector<std::string>& known);

/// What to say when some of the logs was replayed too early.
Error filled_too_far(uint64_t replayed);

}  // namespace holdfast
