// SPDX-License-Identifier: Apache-2.0
//
// Does the Zipf generator have the distribution of its definition?
#include "holdfast/workloads/parts/zipf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "holdfast/workloads/map.h"
#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast::testing::zipf_test {
namespace {

/// The statistic of Pearson's test: the sum of the squared deviations over the expected counts.
double chi_squared(uint64_t n, double skew, double tested_skew, uint64_t seed) {
  constexpr int kDraws = 200000;
  const Zipf zipf(n, skew);
  Random random(seed);
  std::vector<int> count(n + 1);
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t rank = zipf.draw(random);
    EXPECT_GE(rank, 1U);
    EXPECT_LE(rank, n);
    ++count[rank];
  }
  double sum = 0;
  for (uint64_t k = 1; k <= n; ++k) {
    sum += std::pow(static_cast<double>(k), -tested_skew);
  }
  double statistic = 0;
  for (uint64_t k = 1; k <= n; ++k) {
    const double expected = kDraws * std::pow(static_cast<double>(k), -tested_skew) / sum;
    EXPECT_GT(expected, 5) << "the test needs more draws";
    statistic += (count[k] - expected) * (count[k] - expected) / expected;
  }
  return statistic;
}

/// With n - 1 degrees of freedom the statistic has mean n - 1 and variance 2(n - 1). The bound is
/// five standard deviations above the mean.
double bound(uint64_t n) {
  const auto degrees = static_cast<double>(n - 1);
  return degrees + 5 * std::sqrt(2 * degrees);
}

TEST(ZipfTest, RanksHaveTheirProbabilities) {
  for (const double skew : {0.0, 0.5, 0.99, 1.0, 1.000001, 1.2, 2.0}) {
    for (const uint64_t n : {2, 3, 10, 60}) {
      EXPECT_LT(chi_squared(n, skew, skew, 1), bound(n)) << "n " << n << ", skew " << skew;
    }
  }
}

/// So the test above can fail.
TEST(ZipfTest, ASlightlyDifferentSkewIsNoticed) {
  EXPECT_GT(chi_squared(60, 0.99, 0.95, 1), bound(60));
  EXPECT_GT(chi_squared(60, 1.0, 1.04, 1), bound(60));
}

TEST(ZipfTest, OneRankIsAlwaysDrawn) {
  Random random(1);
  for (const double skew : {0.0, 1.0, 3.0}) {
    EXPECT_EQ(Zipf(1, skew).draw(random), 1U);
  }
}

/// The ranks up to k come up in proportion to the harmonic number of k, here with n of 2^40.
TEST(ZipfTest, LargeRangesHaveTheRightShareOfSmallRanks) {
  constexpr int kDraws = 200000;
  constexpr double kEuler = 0.5772156649015329;
  const uint64_t n = uint64_t{1} << 40;
  const Zipf zipf(n, 1);
  Random random(2);
  int small = 0;
  for (int i = 0; i < kDraws; ++i) {
    small += zipf.draw(random) <= 1000000 ? 1 : 0;
  }
  const double share = (std::log(1e6) + kEuler) / (std::log(static_cast<double>(n)) + kEuler);
  EXPECT_NEAR(static_cast<double>(small) / kDraws, share, 5 * 0.5 / std::sqrt(kDraws)) << "seed 2";
}

RandomKeys keys(const char* kind, const char* skew, int64_t range) {
  RandomKeys made(Parameters::make(map_info(), {{"keys", kind}, {"skew", skew}}).value());
  made.set_range(range);
  return made;
}

TEST(RandomKeysTest, ZipfKeysAreAllKeysOfTheRange) {
  for (const int64_t range : {1, 2, 3, 7, 64, 100}) {
    const RandomKeys zipf = keys("zipf", "0.5", range);
    Random random(3);
    std::set<int64_t> seen;
    for (int i = 0; i < 20000; ++i) {
      seen.insert(zipf.draw(random));
    }
    EXPECT_EQ(seen.size(), static_cast<size_t>(range)) << "seed 3";
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), range - 1);
  }
}

TEST(RandomKeysTest, TheHottestKeysAreFarFromEachOther) {
  const RandomKeys zipf = keys("zipf", "3", 1000);
  Random random(4);
  std::vector<int> count(1000);
  for (int i = 0; i < 10000; ++i) {
    ++count[static_cast<size_t>(zipf.draw(random))];
  }
  EXPECT_GT(count[0], 8000) << "rank 1 is key 0; its share is 1 / zeta(3)";
  EXPECT_EQ(count[1], 0) << "seed 4";
}

TEST(RandomKeysTest, NonsenseIsRefused) {
  EXPECT_THROW(keys("normal", "1", 10), Error);
  EXPECT_THROW(keys("zipf", "-1", 10), Error);
}

}  // namespace
}  // namespace holdfast::testing::zipf_test
