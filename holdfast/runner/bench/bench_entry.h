// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "holdfast/runner/sessions/slice.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// What is known about one configuration when its turns are over.
struct Measured {
  std::string workload;
  std::string engine;
  int threads = 1;
  std::string domain;
  double set_up_seconds = 0;
  size_t heap_bytes = 0;
  std::vector<std::string> kinds;
  std::vector<Slice> slices;
  Status status;      ///< why there is no result
  std::string check;  ///< "ok", "skipped", or what was found

  std::string name() const {
    return workload + "/" + engine + "/threads:" + std::to_string(threads);
  }
};

/// Appends the entries of Google Benchmark's "benchmarks" for one configuration.
void append_entries(const Measured& measured, int family, Json& benchmarks);

/// The engine's counters, per operation and per update transaction, as they appear in an entry;
/// also used for simulated runs.
void add_counters(const Statistics& statistics, Json& entry);

}  // namespace holdfast
