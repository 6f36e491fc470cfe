// SPDX-License-Identifier: Apache-2.0
// Does REDU survive every power failure, and do the variants by the letter of its text not?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::redu_crash_test {
namespace {

/// A small buffer, a log that wraps around, and a DRAM cache of two sets.
const Options kSmall = {
    {"buffer", "256"}, {"region", "4096"}, {"dram", "256"}, {"ways", "2"}, {"entries", "words"}};

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  return small_tables(options(machine, "redu", more));
}

/// As kSmall, with entries of lines, whose slots have 576 bytes.
const Options kSmallLines = {
    {"buffer", "256"}, {"region", "16384"}, {"dram", "256"}, {"ways", "2"}, {"entries", "lines"}};
const Options kWords = {{"entries", "words"}};

Options small_and(const Options& more) {
  Options all = kSmall;
  for (const auto& [name, value] : more) {
    all[name] = value;
  }
  return all;
}

TEST(ReduCrash, EveryPowerFailureLeavesTheCommittedTransactions) {
  expect_durable(on(large_caches()));
  expect_durable(on(large_caches(), kWords));
}

TEST(ReduCrash, EveryPowerFailureWithSmallSizes) {
  expect_durable(on(tiny(), kSmall));
  expect_durable(on(tiny(), kSmallLines));
}

// Lines stay in the DRAM cache for long, so committed and uncommitted versions meet there.
TEST(ReduCrash, EveryPowerFailureWhileLinesGoHomeLazily) {
  Program program;
  program.most_lines = 12;
  expect_durable(on(tiny(), small_and({{"flush", "lazy"}, {"flush_lines", "1"}})), program);
}

// Transactions are larger than the buffer and a set of the DRAM cache.
TEST(ReduCrash, EveryPowerFailureOfLargeTransactions) {
  Program program;
  program.most_lines = 19;
  expect_durable(on(tiny(), small_and({{"region", "16384"}})), program);
  expect_durable(on(tiny(), kSmallLines), program);
}

// Stores outside transactions, each protected by a pwb and a psync, beside words of the log. Every
// power failure keeps those that were, and the transactions that had committed.
TEST(ReduCrash, APowerFailureKeepsLinesThatWereStoredToOutside) {
  for (const char* flush : {"eager", "lazy"}) {
    expect_outside_stores_kept(on(tiny(), small_and({{"region", "8192"}, {"flush", flush}})));
    Options lines = kSmallLines;
    lines["flush"] = flush;
    expect_outside_stores_kept(on(tiny(), lines));
  }
}

// ---- the text by the letter

TEST(ReduCrash, ARecordThatDoesNotWaitForItsSlicesIsFound) {
  for (const char* entries : {"lines", "words"}) {
    EXPECT_GT(wrong_images(on(tiny(), {{"printed", "together"}, {"entries", entries}})), 0u);
  }
}

TEST(ReduCrash, AVersionThatIsOverwrittenInTheDramCacheIsFound) {
  Program program;
  program.most_lines = 12;
  EXPECT_GT(wrong_images(on(tiny(), {{"printed", "overwrite"}, {"flush", "lazy"}}), program), 0u);
}

TEST(ReduCrash, ALogThatIsFreedBeforeLinesAreHomeIsFound) {
  EXPECT_GT(wrong_images(on(tiny(), small_and({{"printed", "release"}}))), 0u);
}

TEST(ReduCrash, LongPowerFailures) {
  expect_durable(on(large_caches()), {}, false);
  expect_durable(on(tiny(), kSmall), {}, false);
  expect_durable(on(tiny(), kSmallLines), {}, false);
  expect_durable(on(tiny(), small_and({{"flush", "lazy"}})), {}, false);
}

}  // namespace
}  // namespace holdfast::design_test::redu_crash_test
