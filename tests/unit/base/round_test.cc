// SPDX-License-Identifier: Apache-2.0
//
// Are numbers rounded to multiples, and multiples left alone?
#include "holdfast/base/round.h"

#include <gtest/gtest.h>

namespace holdfast::round_test {
namespace {

TEST(Round, LeavesMultiplesAlone) {
  for (const uint64_t unit : {1U, 24U, 4096U}) {
    for (const uint64_t n : {uint64_t{0}, unit, 5 * unit, (uint64_t{1} << 40) * unit}) {
      EXPECT_EQ(round_up(n, unit), n);
      EXPECT_EQ(round_down(n, unit), n);
    }
  }
}

TEST(Round, TakesTheNextOrTheLastMultiple) {
  for (const uint64_t unit : {2U, 24U, 4096U}) {
    for (const uint64_t more : {uint64_t{1}, unit - 1}) {
      EXPECT_EQ(round_up(7 * unit + more, unit), 8 * unit);
      EXPECT_EQ(round_down(7 * unit + more, unit), 7 * unit);
    }
  }
}

}  // namespace
}  // namespace holdfast::round_test
