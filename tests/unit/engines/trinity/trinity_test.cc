// SPDX-License-Identifier: Apache-2.0
// Does an update cost what the page of Trinity says?
#include "holdfast/engines/trinity/trinity.h"

#include <gtest/gtest.h>

#include "tests/unit/engines/parts/durability/records/record_world.h"

namespace holdfast::trinity_test {
namespace {

using World = RecordWorld<Trinity<SimMachine>>;

TEST(TrinityCost, TwoFencesAndTheLinesOfTheRecords) {
  for (const size_t line : {64u, 128u}) {
    for (size_t n = 1; n <= 40; ++n) {
      World world("1024", line);
      for (const uint64_t value : {1u, 2u}) {  // the first store to a word, and the next one
        const PersistCounters c = world.cost(0, n, value);
        EXPECT_EQ(c.pfence, 1u);
        EXPECT_EQ(c.psync, 1u);
        EXPECT_EQ(c.pwb, (RecordWords::kBytes * n + line - 1) / line + 1) << n << " words";
      }
    }
  }
}

TEST(TrinityCost, TwoMoreFencesWhenTheTableIsFull) {
  World world("16");
  EXPECT_EQ(world.cost(0, 16, 1).pfence, 1u);
  EXPECT_EQ(world.cost(0, 16, 2).pfence, 1u) << "they have their records";
  const PersistCounters c = world.cost(100, 1, 3);
  EXPECT_EQ(c.pfence, 3u);
  EXPECT_EQ(c.psync, 1u);
  // 16 words, 24 bytes apart, lie in 6 lines; base; a record; the number.
  EXPECT_EQ(c.pwb, 6u + 1 + 1 + 1);
  EXPECT_EQ(world.heap.read(45), 2u);
}

}  // namespace
}  // namespace holdfast::trinity_test
