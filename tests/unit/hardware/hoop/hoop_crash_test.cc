// SPDX-License-Identifier: Apache-2.0
// Does HOOP survive every power failure, and do the variants by the letter of its text not?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test {
namespace {

/// Small buffers, so that transactions are larger than the OOP buffer, the table fills, the log
/// wraps around and collections are frequent.
const Options kSmall = {
    {"buffer", "256"}, {"table", "128"}, {"region", "4096"}, {"collect_us", "2"}};

SimOptions on(const MachineDescription& machine, Options more = {}) {
  return options(machine, "hoop", more);
}

Options small_and(const Options& more) {
  Options all = kSmall;
  for (const auto& [name, value] : more) {
    all[name] = value;
  }
  return all;
}

TEST(HoopCrash, EveryPowerFailureLeavesTheCommittedTransactions) {
  expect_durable(on(roomy()));
}

TEST(HoopCrash, EveryPowerFailureWithSmallBuffersAndManyCollections) {
  expect_durable(on(tiny(), kSmall));
}

TEST(HoopCrash, EveryPowerFailureWhileCollectionsLetStoresPass) {
  expect_durable(on(tiny(), small_and({{"collect_blocks", "0"}, {"collect_lines", "1"}})));
}

// ---- the text by the letter

TEST(HoopCrash, ARecordThatDoesNotWaitForItsSlicesIsFound) {
  EXPECT_GT(wrong_images(on(tiny(), {{"printed", "together"}})), 0u);
}

TEST(HoopCrash, ATailThatMovesBeforeLinesAreHomeIsFound) {
  EXPECT_GT(wrong_images(on(tiny(), small_and({{"printed", "release"}}))), 0u);
}

TEST(HoopCrash, LongPowerFailures) {
  expect_durable(on(roomy()), {}, false);
  expect_durable(on(tiny(), kSmall), {}, false);
  expect_durable(on(tiny(), small_and({{"collect_blocks", "0"}})), {}, false);
}

}  // namespace
}  // namespace holdfast::design_test
