// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "holdfast/base/random.h"

namespace holdfast {

/// An open loop: transactions arrive at random times, whether or not earlier ones have ended. All
/// worker threads serve one queue, in the order of arrival. The gaps between arrivals are
/// exponentially distributed (a Poisson process).
class Arrivals {
 public:
  /// `rate` transactions per second of simulated time, from `begin` on; times in picoseconds.
  Arrivals(double rate, uint64_t begin, uint64_t seed)
      : mean_gap_(1e12 / rate), time_(static_cast<double>(begin)), random_(mix64(seed)) {}

  /// The time at which the next transaction arrives. Each call takes one off the queue.
  uint64_t next() {
    constexpr double kUnit = 0x1.0p-53;
    const double uniform = (static_cast<double>(random_.next() >> 11) + 1) * kUnit;  // in (0, 1]
    time_ -= mean_gap_ * std::log(uniform);
    return static_cast<uint64_t>(time_);
  }

 private:
  double mean_gap_;
  double time_;
  Random random_;
};

}  // namespace holdfast
