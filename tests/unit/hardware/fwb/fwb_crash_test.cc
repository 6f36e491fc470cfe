// SPDX-License-Identifier: Apache-2.0
// Does FWB survive every power failure, and do the sentences that are taken at their word not?
#include <gtest/gtest.h>

#include "tests/sanitized.h"
#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::fwb_crash_test {
namespace {

/// Stores wait, the log wraps around, and scans are frequent.
const Options kSmall = {{"buffer", "2"}, {"log", "8192"}, {"scan_cycles", "1000"}};

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  return small_tables(options(machine, "fwb", more));
}

/// Room for all lines of a sweep: nothing is evicted.
MachineDescription large_caches() {
  MachineDescription m = tiny();
  m.l1.bytes = m.l2.bytes = m.llc.bytes = 16 << 10;
  return m;
}

TEST(FwbCrash, EveryPowerFailureLeavesTheCommittedTransactions) {
  expect_durable(on(tiny()));
}

TEST(FwbCrash, EveryPowerFailureWithASmallLogAndManyScans) {
  expect_durable(on(tiny(), kSmall), {.most_lines = 12});
}

TEST(FwbCrash, EveryPowerFailureWhileOnlyScansWriteLinesBack) {
  expect_durable(on(large_caches(), kSmall));
}

// Scans come while long transactions abort.
TEST(FwbCrash, EveryPowerFailureOfLargeTransactions) {
  expect_durable(on(large_caches(), kSmall), {.most_lines = 20});
}

TEST(FwbCrash, ALookAndACrashShowTheSameImages) {
  Sweep(on(tiny(), kSmall), {.transactions = 3}).expect_that_crashes_show_the_same_images(5);
}

TEST(FwbCrash, APowerFailureKeepsLinesThatWereStoredToOutside) {
  expect_outside_stores_kept(on(tiny(), kSmall));
}

TEST(FwbCrash, SentencesAtTheirWordLoseTransactions) {
  for (const char* printed : {"order", "abort"}) {
    Options more = kSmall;
    more["printed"] = printed;
    EXPECT_GT(wrong_images(on(tiny(), more), {.most_lines = 12}), 0u) << printed;
  }
}

// The sound design scans here whenever a store has just made a record: its line is not dirty yet.
TEST(FwbCrash, ALogThatWrapsAroundBeforeLinesAreHomeIsFound) {
  if (kSanitized) {
    GTEST_SKIP() << "the code of the other tests, once for each line of a log";
  }
  Options more = {{"log", "4096"}, {"scan_cycles", "1000000000"}};
  EXPECT_EQ(wrong_images(on(large_caches(), more), {.most_lines = 8}), 0u);
  more["printed"] = "wrap";
  EXPECT_GT(wrong_images(on(large_caches(), more), {.most_lines = 8}), 0u);
}

TEST(FwbCrash, LongPowerFailures) {
  for (const MachineDescription& machine : {tiny(), large_caches()}) {
    expect_durable(on(machine), {}, false);
    expect_durable(on(machine, kSmall), {.most_lines = 20}, false);
  }
}

}  // namespace
}  // namespace holdfast::design_test::fwb_crash_test
