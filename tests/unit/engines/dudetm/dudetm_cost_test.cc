// SPDX-License-Identifier: Apache-2.0
// Does an update cost what the page of DudeTM says?
#include <gtest/gtest.h>

#include "holdfast/engines/dudetm/dudetm.h"
#include "tests/unit/engines/parts/isolation/stm/stm_recovery_suite.h"

namespace holdfast::history_test::dudetm_cost_test {
namespace {

TEST(DudeTmCost, OneFenceAndTheLinesOfTheBlock) {
  for (size_t n = 1; n <= 20; ++n) {
    const PersistCounters c = cost<DudeTm<SimMachine>>(n, 64);
    EXPECT_EQ(c.pfence + c.psync, 1u);
    EXPECT_EQ(c.pwb, (16 * n + CommitBlock::kFrameBytes + 63) / 64) << n << " words";
  }
}

}  // namespace
}  // namespace holdfast::history_test::dudetm_cost_test
