// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/spec/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "holdfast/base/random.h"

namespace holdfast::histogram_test {
namespace {

TEST(RunnerHistogram, IsEmptyAtFirst) {
  const Histogram h;
  EXPECT_EQ(h.count(), 0U);
  EXPECT_EQ(h.percentile(0.5), 0);
}

TEST(RunnerHistogram, KeepsSmallValuesExactly) {
  Histogram h;
  for (uint64_t value = 0; value < 256; ++value) {
    h.add(value);
  }
  EXPECT_EQ(h.percentile(1.0), 255);
  EXPECT_EQ(h.percentile(0.5), 127);
}

TEST(RunnerHistogram, HoldsEveryValueWithin04PerCent) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value :
         {uint64_t{1} << bit, (uint64_t{1} << bit) + (uint64_t{1} << bit) / 3,
          (uint64_t{1} << bit) * 2 - 1}) {
      Histogram h;
      h.add(value);
      const double expected = static_cast<double>(value);
      EXPECT_LE(std::abs(h.percentile(0.5) - expected), expected * 0.004) << value;
    }
  }
}

TEST(RunnerHistogram, FindsPercentilesOfAMergedSample) {
  constexpr uint64_t kSeed = 7;
  Random random(kSeed);
  std::vector<uint64_t> values;
  Histogram first;
  Histogram second;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(100 + random.below(1'000'000));
    (i % 2 == 0 ? first : second).add(values.back());
  }
  first += second;
  std::sort(values.begin(), values.end());
  for (const double share : {0.01, 0.5, 0.9, 0.99}) {
    const auto exact = static_cast<double>(values[static_cast<size_t>(share * 20'000)]);
    EXPECT_NEAR(first.percentile(share), exact, exact * 0.01)
        << "share " << share << " seed " << kSeed;
  }
}

}  // namespace
}  // namespace holdfast::histogram_test
