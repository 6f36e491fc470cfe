// SPDX-License-Identifier: Apache-2.0
// Does an update cost what the page of Pisces says?
#include <gtest/gtest.h>

#include "holdfast/engines/pisces/pisces.h"
#include "tests/unit/engines/parts/isolation/stm/stm_recovery_suite.h"

namespace holdfast::history_test::pisces_cost_test {
namespace {

TEST(PiscesCost, ThreeFencesTheBlockTheDataAndItsRetirement) {
  for (const size_t line : {64u, 128u}) {
    for (size_t n = 1; n <= 20; ++n) {
      const PersistCounters c = cost<Pisces<SimMachine>>(n, line);
      EXPECT_EQ(c.pfence + c.psync, 3u);
      EXPECT_EQ(c.pwb, (16 * n + CommitBlock::kFrameBytes + line - 1) / line  // block
                           + (16 * (n - 1) + 8 + line - 1) / line             // data
                           + 1)
          << n << " words";
    }
  }
}

}  // namespace
}  // namespace holdfast::history_test::pisces_cost_test
