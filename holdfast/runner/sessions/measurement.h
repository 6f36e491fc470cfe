// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "holdfast/runner/sessions/session.h"
#include "holdfast/runner/spec/histogram.h"

namespace holdfast {

/// The results of one measured stretch of time on one session.
struct Measurement {
  double seconds = 0;      ///< from the common start to the last thread's end
  double cpu_seconds = 0;  ///< of the whole process, background threads included
  uint64_t operations = 0;
  uint64_t rolled_back = 0;        ///< operations rolled back on purpose
  std::vector<uint64_t> by_kind;   ///< per WorkloadInfo::operations
  std::vector<Histogram> latency;  ///< in nanoseconds, per kind; a sample of the operations
  Statistics statistics;           ///< of this measurement alone
  Status status;                   ///< why a worker stopped early

  double per_second() const { return seconds > 0 ? static_cast<double>(operations) / seconds : 0; }
};

/// Runs the session's workload on `threads` pinned threads for about `seconds`. Threads start
/// together, and each stops at the deadline. Results are consumed, so that the compiler keeps
/// read-only work.
Measurement measure(Session& session, int threads, double seconds, uint64_t seed);

}  // namespace holdfast
