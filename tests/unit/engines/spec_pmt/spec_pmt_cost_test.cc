// SPDX-License-Identifier: Apache-2.0
// Does an update cost what the page of SpecPMT says?
#include <gtest/gtest.h>

#include "holdfast/engines/spec_pmt/spec_pmt.h"
#include "tests/unit/engines/parts/durability/stamped/stamped_logs_suite.h"

namespace holdfast::history_test::spec_pmt_cost_test {
namespace {

TEST(SpecPmtCost, OneFenceAndTheLinesOfTheBlock) {
  for (const size_t line : {64u, 128u}) {
    for (size_t n = 1; n <= 20; ++n) {
      const PersistCounters c = cost<SpecPmt<SimMachine>>(n, line);
      EXPECT_EQ(c.pfence + c.psync, 1u);
      EXPECT_EQ(c.pwb, (16 * n + CommitBlock::kFrameBytes + line - 1) / line) << n << " words";
    }
  }
}

/// The suite of stamped logs would notice a block that comes back.
TEST(SpecPmtLogs, ATornBlockComesBackIfRecoveryDoesNotEmptyIt) {
  expect_a_torn_block_stays_dropped<SpecPmt<SimMachine>>(
      {parse_mutation("logs.recover.empty=drop").value()}, 1);
}

}  // namespace
}  // namespace holdfast::history_test::spec_pmt_cost_test
