// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "holdfast/runner/db/step.h"

namespace holdfast::store_bench {

/// Entries of a batch in fillbatch, as in db_bench.
inline constexpr size_t kBatchEntries = 1000;

/// The benchmarks that step_of knows, each with a line of help.
struct BenchmarkInfo {
  std::string name;
  std::string help;
};
std::vector<BenchmarkInfo> benchmark_list();

/// Throws Error(invalid_argument) for a name that is not in the list.
Step step_of(const std::string& name, const Sizes& sizes);

/// db_bench's key: sixteen digits.
std::string key_of(uint64_t number);

}  // namespace holdfast::store_bench
