// SPDX-License-Identifier: Apache-2.0
// Does an attempt that software aborts show and count as aborted?
#include <gtest/gtest.h>

#include "tests/unit/engines/timeline_world.h"

namespace holdfast::timeline_test::tinystm_timeline_test {
namespace {

TEST(TinyStmTimeline, AnAttemptThatSoftwareAbortsIsDrawnAndCountsAsWell) {
  World w(engine_rows_test::row_of("tinystm"), power9(2), {{"locks", "64"}});
  w.run(2, [&](int worker) {
    w.heap.engine().update([&] {
      w.machine.work(worker == 0 ? 1000 : 500);
      w.heap.set(1, 1);  // worker 1 owns it when worker 0 comes
      w.machine.work(worker == 0 ? 1000 : 5000);
    });
  });
  const auto attempts = w.slices(Kind::attempt, kSlotOfWorker0);
  const auto transactions = w.slices(Kind::transaction, kSlotOfWorker0);
  ASSERT_FALSE(attempts.empty());
  ASSERT_EQ(transactions.size(), 1u);
  EXPECT_EQ(attempts[0].outcome, Outcome::aborted);
  EXPECT_EQ(attempts[0].cause, AbortCause::conflict);
  EXPECT_EQ(attempts[0].begin, transactions[0].begin);
  EXPECT_EQ(transactions[0].attempts, attempts.size() + 1);
  EXPECT_EQ(transactions[0].outcome, Outcome::committed);
  uint64_t aborted = 0;
  for (const Slice& attempt : attempts) {
    aborted += length(attempt);
  }
  EXPECT_EQ(w.time(kSlotOfWorker0, Phase::aborted), aborted);
  const auto executed = w.phases(kSlotOfWorker0, Phase::execute);
  ASSERT_EQ(executed.size(), attempts.size() + 1);
  EXPECT_EQ(w.time(kSlotOfWorker0, Phase::execute), length(executed.back()));
  EXPECT_EQ(w.slices(Kind::attempt, kSlotOfWorker0 + 1).size(), 0u);
}

TEST(TinyStmTimeline, AnAttemptThatSoftwareAbortsTakesNothingFromTheUpdatesBefore) {
  World w(engine_rows_test::row_of("tinystm"), power9(2), {{"locks", "64"}});
  w.run(2, [&](int worker) {
    if (worker == 0) {
      w.heap.engine().update([&] { w.machine.work(20'000); });
      return w.heap.engine().update([&] {
        w.heap.set(1, 1);  // worker 1 owns it
        w.machine.work(1000);
      });
    }
    w.heap.engine().update([&] {
      w.heap.set(1, 1);
      w.machine.work(60'000);
    });
  });
  ASSERT_FALSE(w.slices(Kind::attempt, kSlotOfWorker0).empty());
  uint64_t kept = length(w.phases(kSlotOfWorker0, Phase::execute).front());
  kept += length(w.phases(kSlotOfWorker0, Phase::execute).back());
  EXPECT_EQ(w.time(kSlotOfWorker0, Phase::execute), kept);
  const SimCounters c = w.machine.statistics(kSlotOfWorker0);
  const auto& update = c.of_kind[static_cast<size_t>(TransactionKind::update)];
  EXPECT_EQ(update.phase_time[static_cast<size_t>(Phase::outside)], 0u);
}

}  // namespace
}  // namespace holdfast::timeline_test::tinystm_timeline_test
