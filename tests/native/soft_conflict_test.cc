// SPDX-License-Identifier: Apache-2.0
//
// Which of two conflicting software transactions wins? The test interleaves them on one thread,
// because any thread may call a SoftThread. soft_stress_test has real threads.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "holdfast/machine/native/htm/soft_htm.h"

namespace holdfast::native::soft_conflict_test {
namespace {

class SoftConflict : public testing::TestWithParam<Tracking> {
 protected:
  struct alignas(kLineBytes) Line {
    uint64_t word[8] = {};
  };

  /// Expects that the transaction is doomed: its next step throws, and none of its stores remain.
  static void expect_conflict(SoftThread& t, const std::function<void()>& step) {
    EXPECT_THROW(step(), HtmAbort);
    EXPECT_EQ(t.caught(), AbortCause::conflict);
  }

  std::vector<Line> memory_ = std::vector<Line>(8);
  uint64_t* x_ = &memory_[0].word[0];
  uint64_t* y_ = &memory_[1].word[0];
  uint64_t* z_ = &memory_[2].word[0];
  SoftShared shared_{3, {}};
  SoftThread a_{shared_, 0};
  SoftThread b_{shared_, 1};
  SoftThread c_{shared_, 2};
};

TEST_P(SoftConflict, AnOutsideLoadDoomsTheOwner) {
  a_.begin(GetParam());
  a_.store(x_, uint64_t{1});
  EXPECT_FALSE(a_.doomed());
  EXPECT_EQ(b_.outside_load(x_), 0u);
  EXPECT_TRUE(a_.doomed());
  expect_conflict(a_, [&] { a_.commit(); });
  EXPECT_EQ(*x_, 0u);
}

// An engine asks for the cause after a body that may have caught the abort. The answer must not be
// explicit_abort, which means that the engine itself has aborted the transaction.
TEST_P(SoftConflict, CaughtReportsTheConflictOfADoomedTransaction) {
  for (const bool suspended : {false, true}) {
    a_.begin(GetParam());
    a_.store(x_, uint64_t{1});
    if (suspended) {
      a_.suspend();
    }
    EXPECT_EQ(b_.outside_load(x_), 0u);
    ASSERT_TRUE(a_.doomed());
    EXPECT_EQ(a_.caught(), AbortCause::conflict);
    EXPECT_FALSE(a_.open());
    EXPECT_EQ(*x_, 0u);
  }
}

TEST_P(SoftConflict, AnOutsideLoadOfTheLinesOtherWordsDoomsToo) {
  a_.begin(GetParam());
  a_.store(x_, uint64_t{1});
  EXPECT_EQ(b_.outside_load(&memory_[0].word[7]), 0u);
  expect_conflict(a_, [&] { a_.store(y_, uint64_t{1}); });
}

TEST_P(SoftConflict, AnOutsideRangeDoomsEveryOwner) {
  a_.begin(GetParam());
  a_.store(x_, uint64_t{1});
  c_.begin(GetParam());
  c_.store(y_, uint64_t{1});
  uint64_t both[16];
  b_.outside_load_range(both, x_, sizeof(both));
  EXPECT_TRUE(a_.doomed());
  EXPECT_TRUE(c_.doomed());
  a_.cancel();
  c_.cancel();
}

TEST_P(SoftConflict, AnOutsideStoreDoomsTheOwner) {
  a_.begin(GetParam());
  a_.store(x_, uint64_t{1});
  b_.outside_store(x_, uint64_t{2});
  EXPECT_EQ(*x_, 2u);
  expect_conflict(a_, [&] { a_.load(y_); });
  EXPECT_EQ(*x_, 2u);
}

TEST_P(SoftConflict, OfTwoStoresTheLaterWins) {
  a_.begin(GetParam());
  a_.store(x_, uint64_t{1});
  b_.begin(GetParam());
  b_.store(x_, uint64_t{2});
  EXPECT_TRUE(a_.doomed());
  EXPECT_FALSE(b_.doomed());
  b_.commit();
  expect_conflict(a_, [&] { a_.load(y_); });
  EXPECT_EQ(*x_, 2u);
}

TEST_P(SoftConflict, ALoadInATransactionDoomsTheOwner) {
  a_.begin(GetParam());
  a_.store(x_, uint64_t{1});
  b_.begin(GetParam());
  EXPECT_EQ(b_.load(x_), 0u);
  b_.commit();
  expect_conflict(a_, [&] { a_.commit(); });
}

TEST_P(SoftConflict, ASuspendedLoadDoomsOthersAndNotItself) {
  a_.begin(GetParam());
  a_.store(x_, uint64_t{1});
  b_.begin(GetParam());
  b_.store(y_, uint64_t{2});
  b_.suspend();
  EXPECT_EQ(b_.load(x_), 0u);
  EXPECT_EQ(b_.load(y_), 2u);
  b_.resume();
  b_.commit();
  expect_conflict(a_, [&] { a_.commit(); });
  EXPECT_EQ(*y_, 2u);
}

TEST_P(SoftConflict, DoomIsNoticedAtTheNextStepWhateverItIs) {
  uint64_t value = 0;
  const std::function<void()> steps[] = {
      [&] { a_.load(x_); },
      [&] { a_.load(y_); },
      [&] { a_.load_range(&value, y_, sizeof(value)); },
      [&] { a_.store(x_, uint64_t{2}); },
      [&] { a_.store(x_ + 1, uint64_t{2}); },
      [&] { a_.store(y_, uint64_t{2}); },
      [&] { a_.store_range(x_, &value, sizeof(value)); },
      [&] { a_.suspend(), a_.resume(); },
      [&] { a_.commit(); },
  };
  for (const auto& step : steps) {
    a_.begin(GetParam());
    a_.store(x_, uint64_t{1});
    b_.outside_load(x_);
    expect_conflict(a_, step);
    EXPECT_EQ(*x_, 0u);
  }
}

TEST_P(SoftConflict, DoomIsNoticedAtResumeAndNotBefore) {
  a_.begin(GetParam());
  a_.store(x_, uint64_t{1});
  a_.suspend();
  b_.outside_load(x_);
  EXPECT_TRUE(a_.doomed());
  EXPECT_EQ(a_.load(y_), 0u);
  expect_conflict(a_, [&] { a_.resume(); });
}

TEST_P(SoftConflict, ADoomedTransactionLosesAllItsLinesOnlyOnce) {
  a_.begin(GetParam());
  a_.store(x_, uint64_t{1});
  a_.store(y_, uint64_t{1});
  b_.begin(GetParam());
  b_.store(x_, uint64_t{2});
  c_.begin(GetParam());
  c_.store(y_, uint64_t{3});  // a_ is doomed already but has not found out yet
  b_.commit();
  c_.commit();
  expect_conflict(a_, [&] { a_.commit(); });
  EXPECT_EQ(*x_, 2u);
  EXPECT_EQ(*y_, 3u);
  a_.begin(GetParam());
  a_.store(x_, uint64_t{4});
  a_.store(y_, uint64_t{5});
  a_.commit();
  EXPECT_EQ(*x_, 4u);
  EXPECT_EQ(*y_, 5u);
}

// Rolling back must not release a line that another transaction has taken over.
TEST_P(SoftConflict, RollingBackLeavesStolenLinesAlone) {
  a_.begin(GetParam());
  a_.store(x_, uint64_t{1});
  b_.begin(GetParam());
  b_.store(x_, uint64_t{2});
  expect_conflict(a_, [&] { a_.commit(); });
  EXPECT_EQ(c_.outside_load(x_), 0u);  // b_ still owns it, so this dooms b_
  EXPECT_TRUE(b_.doomed());
  b_.cancel();
}

TEST_P(SoftConflict, ANewTransactionIsNotDoomedByAnOldOnesFate) {
  for (int round = 0; round < 5; ++round) {
    a_.begin(GetParam());
    a_.store(x_, uint64_t{1});
    b_.outside_load(x_);
    expect_conflict(a_, [&] { a_.commit(); });
    a_.begin(GetParam());
    a_.store(x_, uint64_t{2});
    EXPECT_FALSE(a_.doomed());
    a_.commit();
    EXPECT_EQ(*x_, 2u);
    *x_ = 0;
  }
}

INSTANTIATE_TEST_SUITE_P(Tracking, SoftConflict, testing::Values(Tracking::all, Tracking::stores),
                         [](const auto& i) { return i.param == Tracking::all ? "All" : "Stores"; });

class SoftTracked : public SoftConflict {};

TEST_F(SoftTracked, ACommittedStoreFailsAnEarlierLoad) {
  a_.begin(Tracking::all);
  EXPECT_EQ(a_.load(x_), 0u);
  b_.begin(Tracking::all);
  b_.store(x_, uint64_t{1});
  b_.commit();
  a_.store(y_, uint64_t{1});
  expect_conflict(a_, [&] { a_.commit(); });
  EXPECT_EQ(*y_, 0u);
}

TEST_F(SoftTracked, APlainStoreFailsAnEarlierLoad) {
  a_.begin(Tracking::all);
  EXPECT_EQ(a_.load(x_), 0u);
  b_.outside_store(x_, uint64_t{1});
  a_.store(y_, uint64_t{1});
  expect_conflict(a_, [&] { a_.commit(); });
}

// Opacity: even a transaction that can no longer commit sees no mixture of states.
TEST_F(SoftTracked, NoMixtureOfStatesIsEverLoaded) {
  a_.begin(Tracking::all);
  EXPECT_EQ(a_.load(x_), 0u);
  b_.begin(Tracking::all);
  b_.store(x_, uint64_t{1});
  b_.store(y_, uint64_t{1});
  b_.commit();
  expect_conflict(a_, [&] { a_.load(y_); });
}

TEST_F(SoftTracked, TheSnapshotIsExtendedWhenNothingLoadedHasChanged) {
  a_.begin(Tracking::all);
  EXPECT_EQ(a_.load(x_), 0u);
  b_.begin(Tracking::all);
  b_.store(y_, uint64_t{1});
  b_.commit();
  EXPECT_EQ(a_.load(y_), 1u);
  a_.store(z_, uint64_t{1});
  a_.commit();
  EXPECT_EQ(*z_, 1u);
}

TEST_F(SoftTracked, ALineThatWasLoadedAndIsOwnedByAnotherFailsTheCommit) {
  a_.begin(Tracking::all);
  EXPECT_EQ(a_.load(x_), 0u);
  a_.store(y_, uint64_t{1});
  b_.begin(Tracking::all);
  b_.store(x_, uint64_t{1});
  c_.outside_store(z_, uint64_t{1});  // advances the clock, so commit validates
  expect_conflict(a_, [&] { a_.commit(); });
  b_.commit();
  EXPECT_EQ(*x_, 1u);
  EXPECT_EQ(*y_, 0u);
}

TEST_F(SoftTracked, ADoomedOwnerFailsNoOtherTransaction) {
  a_.begin(Tracking::all);
  EXPECT_EQ(a_.load(x_), 0u);
  a_.store(y_, uint64_t{1});
  b_.begin(Tracking::all);
  b_.store(x_, uint64_t{1});
  b_.store(z_, uint64_t{1});
  c_.outside_store(z_, uint64_t{1});  // dooms b_, which owns x until it finds out
  a_.commit();
  EXPECT_EQ(*y_, 1u);
  expect_conflict(b_, [&] { b_.commit(); });
}

TEST_F(SoftTracked, LoadThenStoreOfOneLineCommits) {
  a_.begin(Tracking::all);
  a_.store(x_, a_.load(x_) + 1);
  c_.outside_store(z_, uint64_t{1});
  a_.store(x_, a_.load(x_) + 1);
  a_.commit();
  EXPECT_EQ(*x_, 2u);
}

// The transaction owns the line but has not stored its other words. A load of them must belong to
// the snapshot, like any other load.
TEST_F(SoftTracked, TheRestOfAnOwnLineIsCheckedAgainstTheSnapshot) {
  a_.begin(Tracking::all);
  EXPECT_EQ(a_.load(x_), 0u);
  b_.begin(Tracking::all);
  b_.store(x_, uint64_t{1});
  b_.store(y_, uint64_t{1});
  b_.commit();
  a_.store(y_ + 1, uint64_t{7});
  expect_conflict(a_, [&] { a_.load(y_); });
}

TEST_F(SoftTracked, SuspendedLoadsAreNotTracked) {
  a_.begin(Tracking::all);
  a_.store(y_, uint64_t{1});
  a_.suspend();
  EXPECT_EQ(a_.load(x_), 0u);
  b_.outside_store(x_, uint64_t{1});
  EXPECT_EQ(a_.load(x_), 1u);
  a_.resume();
  a_.commit();
  EXPECT_EQ(*y_, 1u);
}

TEST_F(SoftTracked, WriteSkewIsPrevented) {
  a_.begin(Tracking::all);
  b_.begin(Tracking::all);
  EXPECT_EQ(a_.load(x_) + a_.load(y_), 0u);
  EXPECT_EQ(b_.load(x_) + b_.load(y_), 0u);
  a_.store(x_, uint64_t{1});
  b_.store(y_, uint64_t{1});
  int committed = 0;
  for (SoftThread* t : {&a_, &b_}) {
    try {
      t->commit();
      ++committed;
    } catch (const HtmAbort&) {
      t->caught();
    }
  }
  EXPECT_EQ(committed, 1);
  EXPECT_EQ(*x_ + *y_, 1u);
}

class SoftRollbackOnly : public SoftConflict {};

TEST_F(SoftRollbackOnly, LoadsAreNotTracked) {
  a_.begin(Tracking::stores);
  EXPECT_EQ(a_.load(x_), 0u);
  b_.begin(Tracking::stores);
  b_.store(x_, uint64_t{1});
  b_.commit();
  EXPECT_EQ(a_.load(x_), 1u);
  a_.store(y_, uint64_t{1});
  a_.commit();
  EXPECT_EQ(*y_, 1u);
}

TEST_F(SoftRollbackOnly, WriteSkewIsAllowed) {
  a_.begin(Tracking::stores);
  b_.begin(Tracking::stores);
  EXPECT_EQ(a_.load(x_) + a_.load(y_), 0u);
  EXPECT_EQ(b_.load(x_) + b_.load(y_), 0u);
  a_.store(x_, uint64_t{1});
  b_.store(y_, uint64_t{1});
  a_.commit();
  b_.commit();
  EXPECT_EQ(*x_ + *y_, 2u);
}

}  // namespace
}  // namespace holdfast::native::soft_conflict_test
