// SPDX-License-Identifier: Apache-2.0
// Does Proteus survive every power failure, and do the sentences that are taken at their word not?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::proteus_crash_test {
namespace {

/// Few entries everywhere: stores wait, blocks are logged again, the log wraps around.
const Options kSmall = {{"logq", "2"}, {"llt", "2"}, {"area", "4096"}};

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  return small_tables(options(machine, "proteus", more));
}

/// A write queue in which log entries wait until they are dropped.
MachineDescription patient() {
  MachineDescription m = tiny();
  m.medium.write_queue = 16;
  m.medium.drain_high = 1;
  m.medium.drain_low = 0.8;
  return m;
}

TEST(ProteusCrash, EveryPowerFailureLeavesTheCommittedTransactions) {
  expect_durable(on(tiny()));
}

TEST(ProteusCrash, EveryPowerFailureWithSmallTables) {
  expect_durable(on(tiny(), kSmall), {.most_lines = 12});
}

// Blocks are logged twice, and the second entry may be accepted before the first.
TEST(ProteusCrash, EveryPowerFailureOfTransactionsThatLogBlocksAgain) {
  expect_durable(on(patient(), kSmall), {.most_lines = 20});
}

TEST(ProteusCrash, EveryPowerFailureWhileEntriesAreDropped) {
  expect_durable(on(patient()));
}

TEST(ProteusCrash, ALookAndACrashShowTheSameImages) {
  Sweep(on(patient()), {.transactions = 3}).expect_that_crashes_show_the_same_images(3);
}

TEST(ProteusCrash, SentencesAtTheirWordLoseTransactions) {
  for (const char* printed : {"drop", "commit", "abort"}) {
    EXPECT_GT(wrong_images(on(tiny(), {{"printed", printed}}), {.most_lines = 12}), 0u) << printed;
  }
}

TEST(ProteusCrash, LongPowerFailures) {
  for (const MachineDescription& machine : {tiny(), patient()}) {
    expect_durable(on(machine), {}, false);
    expect_durable(on(machine, kSmall), {.most_lines = 20}, false);
  }
}

}  // namespace
}  // namespace holdfast::design_test::proteus_crash_test
