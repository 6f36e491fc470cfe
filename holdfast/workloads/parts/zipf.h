// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "holdfast/base/random.h"

namespace holdfast {

/// Random ranks from 1 to n. Rank k comes up in proportion to 1 / k^skew. The method is
/// rejection-inversion (Hoermann and Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", 1996). Its set-up and a draw take constant time for all n.
///
/// Thread safety: immutable.
class Zipf {
 public:
  /// n from 1 to 2^52; skew from 0 (uniform) on.
  Zipf(uint64_t n, double skew)
      : n_(static_cast<double>(n)),
        skew_(skew),
        low_(integral(1.5) - 1),
        high_(integral(n_ + 0.5)),
        sure_(2 - inverse(integral(2.5) - density(2))) {}

  uint64_t draw(Random& random) const {
    for (;;) {
      const double uniform = static_cast<double>(random.next() >> 11) * 0x1.0p-53;
      const double u = high_ + uniform * (low_ - high_);
      const double x = inverse(u);
      const double rank = std::clamp(std::floor(x + 0.5), 1.0, n_);
      // The first test saves most evaluations of the second one, which decides.
      if (rank - x <= sure_ || u >= integral(rank + 0.5) - density(rank)) {
        return static_cast<uint64_t>(rank);
      }
    }
  }

 private:
  double density(double x) const { return std::exp(-skew_ * std::log(x)); }
  /// The integral of the density, which is 0 at 1. Also exact where the skew is close to 1.
  double integral(double x) const {
    const double log = std::log(x);
    const double t = (1 - skew_) * log;
    return log * (std::abs(t) > kTiny ? std::expm1(t) / t : 1 + t / 2);
  }
  double inverse(double y) const {
    const double t = std::max((1 - skew_) * y, -1.0);
    return std::exp(y * (std::abs(t) > kTiny ? std::log1p(t) / t : 1 - t / 2));
  }

  static constexpr double kTiny = 1e-8;

  double n_;
  double skew_;
  double low_;
  double high_;
  double sure_;
};

}  // namespace holdfast
