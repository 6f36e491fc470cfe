// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "holdfast/base/random.h"

namespace holdfast::store_bench {

/// Numbers from 0 to n - 1, of which number i comes up in proportion to 1 / (i + 1)^0.99: Gray and
/// others, "Quickly generating billion-record synthetic databases", SIGMOD 1994, figure "zipf".
/// The constructor sums at most kSummed terms, so that absurd sizes take no endless loop.
class Zipfian {
 public:
  static constexpr double kTheta = 0.99;  // YCSB's constant

  explicit Zipfian(uint64_t n) : n_(static_cast<double>(n)), last_(n - 1) {
    zeta_ = zeta(n);
    const double zeta_of_two = 1 + std::pow(0.5, kTheta);
    eta_ = (1 - std::pow(2 / n_, 1 - kTheta)) / (1 - zeta_of_two / zeta_);
  }

  static constexpr uint64_t kSummed = 1 << 20;

  /// The sum of 1 / i^0.99 for i from 1 to n. Beyond the first terms it takes the integral with the
  /// first Euler-Maclaurin correction: the error is below 1e-12.
  static double zeta(uint64_t n) {
    const uint64_t summed = std::min(n, kSummed);
    double sum = 0;
    if (n > summed) {
      const auto a = static_cast<double>(summed);
      const auto b = static_cast<double>(n);
      sum = (std::pow(b, 1 - kTheta) - std::pow(a, 1 - kTheta)) / (1 - kTheta) +
            (std::pow(b, -kTheta) - std::pow(a, -kTheta)) / 2;
    }
    for (uint64_t i = summed; i > 0; --i) {  // the small ones first: they add up exactly
      sum += std::pow(1.0 / static_cast<double>(i), kTheta);
    }
    return sum;
  }

  uint64_t next(Random& random) const {
    const double u = static_cast<double>(random.next() >> 11) * 0x1.0p-53;
    if (u * zeta_ < 1) {
      return 0;
    }
    if (u * zeta_ < 1 + std::pow(0.5, kTheta)) {
      return std::min<uint64_t>(1, last_);
    }
    const double rank = n_ * std::pow(eta_ * u - eta_ + 1, 1 / (1 - kTheta));
    return std::min(static_cast<uint64_t>(rank), last_);
  }

 private:
  double n_;
  uint64_t last_;
  double zeta_ = 0;
  double eta_ = 0;
};

}  // namespace holdfast::store_bench
