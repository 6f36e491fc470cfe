// SPDX-License-Identifier: Apache-2.0
// Does a set of ranges add exactly the bytes that it misses?
#include "holdfast/engines/pmdk_like/range_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "holdfast/base/random.h"

namespace holdfast::range_set_test {
namespace {

using pmdk_like::RangeSet;
using undo::Range;

TEST(RangeSet, AddsWhatIsMissingAsAModelDoes) {
  std::vector<std::byte> space(200);
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    RangeSet set;
    std::vector<bool> model(space.size(), false);
    for (int step = 0; step < 30; ++step) {
      const size_t at = random.below(space.size());
      const size_t n = random.below(std::min<size_t>(space.size() - at, 40)) + 1;
      const Range range{space.data() + at, n};
      bool covered = true;
      for (size_t i = at; i < at + n; ++i) {
        covered = covered && model[i];
      }
      ASSERT_EQ(set.covers(range), covered);
      size_t next = at;  // gaps come in order, and each as long as it can be
      set.add(range, [&](const Range& gap) {
        const auto begin = static_cast<size_t>(gap.begin - space.data());
        for (; next < begin; ++next) {
          ASSERT_TRUE(model[next]);
        }
        for (; next < begin + gap.bytes; ++next) {
          ASSERT_FALSE(model[next]);
        }
        ASSERT_LE(next, at + n);
        ASSERT_TRUE(next == at + n || model[next]);
      });
      for (; next < at + n; ++next) {
        ASSERT_TRUE(model[next]);
      }
      std::fill_n(model.begin() + static_cast<ptrdiff_t>(at), n, true);
      size_t seen = 0;
      set.for_each([&](const Range& part) {
        const auto begin = static_cast<size_t>(part.begin - space.data());
        for (; seen < begin; ++seen) {
          ASSERT_FALSE(model[seen]);
        }
        for (; seen < begin + part.bytes; ++seen) {
          ASSERT_TRUE(model[seen]);
        }
        ASSERT_TRUE(seen == space.size() || !model[seen]) << "neighbours are one range";
      });
    }
  }
}

TEST(RangeSet, AFailureLeavesItAsItWas) {
  std::vector<std::byte> space(64);
  RangeSet set;
  set.add({space.data() + 8, 8}, [](const Range&) {});
  const Range all{space.data(), 64};
  EXPECT_THROW(set.add(all, [](const Range&) { throw 1; }), int);
  EXPECT_FALSE(set.covers(all));
  EXPECT_TRUE(set.covers({space.data() + 8, 8}));
}

}  // namespace
}  // namespace holdfast::range_set_test
