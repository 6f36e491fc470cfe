// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/runner/db/step.h"
#include "holdfast/runner/spec/histogram.h"

namespace holdfast::store_bench {

/// The results of one run of a step on one store.
struct Run {
  double seconds = 0;         ///< from the common start to the last measured thread's end
  double thread_seconds = 0;  ///< summed over the measured threads, for micros/op
  double cpu_seconds = 0;     ///< of the whole process, background threads included
  uint64_t operations = 0;
  uint64_t bytes = 0;
  uint64_t looked = 0;
  uint64_t found = 0;
  std::vector<uint64_t> by_kind;   ///< per Step::kinds
  std::vector<Histogram> latency;  ///< in nanoseconds
  Status status;                   ///< why a thread stopped early

  double per_second() const { return seconds > 0 ? static_cast<double>(operations) / seconds : 0; }
  double cpu_ns_per_op() const {
    return operations == 0 ? 0 : cpu_seconds * 1e9 / static_cast<double>(operations);
  }
  double micros_per_op() const {
    return operations == 0 ? 0 : thread_seconds * 1e6 / static_cast<double>(operations);
  }
};

/// Runs the step on `threads` pinned threads, and its helpers beside them. `each`: times all
/// operations, not one in sixteen.
Run measure(Store& store, const Step& step, int threads, bool durable, uint64_t seed, bool each);

/// Waits until this process is idle, so that compactions of one store do not disturb the next.
/// Gives up after some seconds.
void settle();

}  // namespace holdfast::store_bench
