// SPDX-License-Identifier: Apache-2.0
// Does HOOP survive every power failure, and do the variants by the letter of its text not?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::hoop_crash_test {
namespace {

/// Small buffers, so that transactions are larger than the OOP buffer, the table fills, the log
/// wraps around and collections are frequent.
const Options kSmall = {
    {"buffer", "256"}, {"table", "128"}, {"region", "4096"}, {"collect_us", "2"}};

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  return small_tables(options(machine, "hoop", more));
}

Options small_and(const Options& more) {
  Options all = kSmall;
  for (const auto& [name, value] : more) {
    all[name] = value;
  }
  return all;
}

TEST(HoopCrash, EveryPowerFailureLeavesTheCommittedTransactions) {
  expect_durable(on(large_caches()));
}

TEST(HoopCrash, EveryPowerFailureWithSmallBuffersAndManyCollections) {
  expect_durable(on(tiny(), kSmall));
}

TEST(HoopCrash, EveryPowerFailureWhileCollectionsLetStoresPass) {
  expect_durable(on(tiny(), small_and({{"collect_blocks", "0"}, {"collect_lines", "1"}})));
}

// A transaction stores up to 36 words, which are more than the buffer has places, to up to 20
// lines, which are more than the table has entries.
TEST(HoopCrash, EveryPowerFailureOfTransactionsLargerThanBufferAndTable) {
  Program program;
  program.most_lines = 19;
  expect_durable(on(tiny(), kSmall), program);
}

// Two threads share a core and its buffer, which has room for one slice. So each writes the other's
// slices before they are full.
TEST(HoopCrash, EveryPowerFailureWhileTwoThreadsShareABuffer) {
  MachineDescription one_core = tiny();
  one_core.cores = 1;
  SimOptions o = on(one_core, small_and({{"buffer", "128"}}));
  o.threads = 2;
  expect_durable(o);
}

TEST(HoopCrash, APowerFailureKeepsLinesThatWereStoredToOutside) {
  expect_outside_stores_kept(on(tiny(), small_and({{"region", "8192"}})));
}

// ---- the text by the letter

TEST(HoopCrash, ARecordThatDoesNotWaitForItsSlicesIsFound) {
  EXPECT_GT(wrong_images(on(tiny(), {{"printed", "together"}})), 0u);
}

TEST(HoopCrash, ATailThatMovesBeforeLinesAreHomeIsFound) {
  EXPECT_GT(wrong_images(on(tiny(), small_and({{"printed", "release"}}))), 0u);
}

TEST(HoopCrash, LongPowerFailures) {
  expect_durable(on(large_caches()), {}, false);
  expect_durable(on(tiny(), kSmall), {}, false);
  expect_durable(on(tiny(), small_and({{"collect_blocks", "0"}})), {}, false);
}

}  // namespace
}  // namespace holdfast::design_test::hoop_crash_test
