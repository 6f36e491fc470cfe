// SPDX-License-Identifier: Apache-2.0
// Does the filter of lines show each line at least once?
#include "holdfast/engines/parts/basics/line_filter.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "holdfast/base/random.h"

namespace holdfast::line_filter_test {
namespace {

TEST(LineFilterTest, NeverHidesALineItHasNotShown) {
  Random random(7);
  LineFilter filter;
  std::set<uint64_t> shown;
  uint64_t repeats = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t line = random.below(40);
    const bool first = filter.first(line);
    EXPECT_TRUE(first || shown.contains(line));
    repeats += first && shown.contains(line);
    shown.insert(line);
  }
  EXPECT_GT(repeats, 0u);  // it forgets, and that is allowed
  EXPECT_FALSE(filter.first(*shown.begin()) && filter.first(*shown.begin()));
}

TEST(LineFilterTest, VisitsAllLinesOfARange) {
  LineFilter filter;
  std::vector<uint64_t> lines;
  for_new_lines(filter, 60, 70, [&](uint64_t line) { lines.push_back(line); });
  EXPECT_EQ(lines, (std::vector<uint64_t>{0, 64, 128}));
}

}  // namespace
}  // namespace holdfast::line_filter_test
