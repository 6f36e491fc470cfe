// SPDX-License-Identifier: Apache-2.0
// Writes with contents, an own region, a register and a recovery that takes time: do they carry an
// undo log?
#include "tests/unit/hardware/features/undo_log.h"

#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::undo_log_test {
namespace {

constexpr size_t kLog = static_cast<size_t>(Cause::log);
constexpr size_t kWriteBack = static_cast<size_t>(Cause::write_back);
constexpr size_t kRecovery = static_cast<size_t>(Cause::recovery);

// At 1 GHz, half of path_ns is 5 ns, and a look-up of the last level takes 10.
TEST(DesignUndoLog, AStoreWaitsForTwoAcceptancesAndACommitForOne) {
  DesignMachine m(options_for<UndoLog>(roomy(), Domain::pmem));
  m.run([&] {
    m.set(0, 1);
    m->fence();
    m->tx_start();
    m.set(0, 2);
    m->fence();
    EXPECT_EQ(m->design_counters().store_waits, 10'000u);
    m.set(0, 3, 1);
    m->fence();
    EXPECT_EQ(m->design_counters().store_waits, 10'000u) << "the line is in the log";
    m->work(1000);  // the queue empties
    m->tx_commit();
    m->fence();
  });
  const DesignCounters counters = m->design_counters();
  EXPECT_EQ(counters.commit_waits, 15'000u);
  EXPECT_EQ(counters.by_cause[kLog], 2u);
  EXPECT_EQ(counters.by_cause[kWriteBack], 1u);
  EXPECT_EQ(m->statistics().medium_writes, 3u);
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), 2u);
}

// tiny.toml: the queue has four entries, and a bank writes for 100 ns. The first three log writes
// make a drain begin, of which two banks take a write each.
TEST(DesignUndoLog, AFullWriteQueueHoldsStoresUp) {
  DesignMachine m(options_for<UndoLog>(roomy(), Domain::pmem));
  m.run([&] {
    for (size_t line = 0; line < 8; ++line) {
      m.set(line, 1);
    }
    m->fence();
    const uint64_t start = m->now();
    m.transaction(0, 8, 2);
    m->fence();
    // 16 log writes and 8 write-backs; all but the last four have left the queue.
    EXPECT_GE(m->now() - start, (24 - 4) / 2 * 100'000u);
    EXPECT_LT(m->now() - start, 24 * 110'000u);
  });
}

TEST(DesignUndoLog, RecoveryTakesTheTimeOfItsReadsAndWrites) {
  SimImage image;
  {
    DesignMachine m(options_for<UndoLog>(roomy(), Domain::pmem));
    m.run([&] {
      m->tx_start();
      m.set(0, 2);
      m->fence();
    });
    image = m->earliest_image();
  }
  DesignMachine m(options_for<UndoLog>(roomy(), Domain::pmem), image);
  // A read takes 10 ns of path, 50 of its bank and 2 of the bus.
  const uint64_t reads = UndoLog::slots(roomy()) + 2;  // a record's bytes, and the header behind it
  EXPECT_EQ(m->design_recovery().duration, reads * 62'000 + 5'000);
  EXPECT_EQ(m->design_recovery().discarded, 1u);
  EXPECT_EQ(m->design_counters().by_cause[kRecovery], 1u);
  EXPECT_EQ(m->persist_events(), 1 + UndoLog::slots(roomy())) << "a write and the registers";
}

TEST(DesignUndoLog, APowerFailureAtAnyEventLeavesTheCommittedTransactions) {
  expect_durable(options_for<UndoLog>(tiny(), Domain::pmem));
}

TEST(DesignUndoLog, AlsoWhereCachesSurvive) {
  expect_durable(options_for<UndoLog>(tiny(), Domain::eadr));
}

TEST(DesignUndoLog, LongSearchOfPowerFailures) {
  for (const Domain domain : {Domain::pmem, Domain::eadr}) {
    expect_durable(options_for<UndoLog>(tiny(), domain), {}, false);
  }
}

TEST(DesignUndoLog, ALookAndACrashShowTheSameImages) {
  Sweep(options_for<UndoLog>(tiny(), Domain::pmem), {.transactions = 3})
      .expect_that_crashes_show_the_same_images(1);
}

TEST(DesignUndoLog, TheSearchFindsBugs) {
  for (const UndoBug bug : {UndoBug::header_first, UndoBug::commits_early,
                            UndoBug::abort_forgets_home, UndoBug::log_not_awaited}) {
    EXPECT_GT(wrong_images(options_for<UndoLog>(tiny(), Domain::pmem, bug)), 0u)
        << static_cast<int>(bug);
  }
}

}  // namespace
}  // namespace holdfast::design_test::undo_log_test
