// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "holdfast/engines/parts/basics/log_replay.h"
#include "holdfast/machine/machine.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// A replay of logs that `threads` threads filled, on either machine.
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

/// The entry for a configuration without a result; `why` goes into error_message.
Json failed_replay_entry(const MeasuredReplay& measured, const std::string& why);

/// Refuses engines without a separate replay; the message lists `known`, which have one.
Status check_replays(const std::vector<std::string>& engines,
                     const std::vector<std::string>& known);

/// The error for logs of which a part was replayed before the measurement.
Error filled_too_far(uint64_t replayed);

}  // namespace holdfast
