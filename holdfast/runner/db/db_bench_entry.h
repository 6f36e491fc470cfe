// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "holdfast/runner/db/measure.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast::store_bench {

/// The results of one step on one store after all rounds.
struct Measured {
  std::string benchmark;
  std::string store;
  int threads = 1;
  std::vector<std::string> kinds;
  std::string survives = "";
  std::vector<Run> runs = {};
  Status status = {};  ///< why there is no result
};

/// Appends the entries of Google Benchmark's "benchmarks"; see db_bench.h.
void append_entries(const Measured& measured, int family, Json& benchmarks);

}  // namespace holdfast::store_bench
