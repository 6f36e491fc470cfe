// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "holdfast/runner/sessions/measurement.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// The results of one configuration after all its turns.
struct Measured {
  std::string workload;
  std::string engine;
  int threads = 1;
  std::string domain;
  double set_up_seconds = 0;
  size_t heap_bytes = 0;
  std::vector<std::string> kinds;
  std::vector<Measurement> measurements;
  Status status;      ///< why there is no result
  std::string check;  ///< "ok", "skipped", or the check's message

  std::string name() const {
    return workload + "/" + engine + "/threads:" + std::to_string(threads);
  }
};

/// Appends the entries of Google Benchmark's "benchmarks" for one configuration.
void append_entries(const Measured& measured, int family, Json& benchmarks);

/// Adds the engine's counters to an entry, per operation and per update transaction. Simulated runs
/// use it too.
void add_counters(const Statistics& statistics, Json& entry);

}  // namespace holdfast
