// SPDX-License-Identifier: Apache-2.0
//
// Do the counts of updates that are not durable yet admit exactly as many as the bound allows?
#include <gtest/gtest.h>

#include <vector>

#include "holdfast/engines/parts/durability/lag/lag_window.h"
#include "holdfast/engines/parts/durability/lag/position_lag.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::lag_parts_test {
namespace {

/// A machine whose clock and medium the test moves.
struct Machine : SimMachine {
  explicit Machine(bool defers = true) : SimMachine({.threads = 1}), defers_(defers) {}

  uint64_t now() const { return time; }
  uint64_t ticks_of_ms(uint64_t ms) const { return 10 * ms; }
  bool defers_psync() const { return defers_; }
  uint64_t position() const { return synced; }
  bool durable(uint64_t p) const { return p <= on_medium; }
  void await_durable(uint64_t p, Site /*site*/) {
    awaited.push_back(p);
    on_medium = p;
  }
  void let_psyncs_lag(uint64_t ms) { lags.push_back(ms); }

  uint64_t time = 100;
  uint64_t synced = 0;     // position of the last psync
  uint64_t on_medium = 0;  // position up to which all is durable
  std::vector<uint64_t> awaited;
  std::vector<uint64_t> lags;

 private:
  bool defers_;
};

TEST(LagWindow, KnowsWhichUpdatesReturnDurable) {
  Machine machine;
  const auto is_durable = [&](uint64_t bound, bool later, Commit commit) {
    return LagWindow<Machine>(machine, {.bound = bound, .later = later}).is_durable(commit);
  };
  for (const bool later : {false, true}) {
    EXPECT_TRUE(is_durable(0, later, Commit::later)) << "none may lag";
    EXPECT_FALSE(is_durable(1, later, Commit::later));
    EXPECT_TRUE(is_durable(1, later, Commit::durable));
    EXPECT_EQ(is_durable(1, later, Commit::unsaid), !later);
  }
  EXPECT_FALSE(LagWindow<Machine>(machine, {.bound = 0}).can_lag());
  EXPECT_TRUE(LagWindow<Machine>(machine, {.bound = 1}).can_lag());
}

TEST(LagWindow, HasCreditsUpToItsBound) {
  Machine machine(false);
  LagWindow<Machine> window(machine, {.bound = 2});
  window.commit();
  window.commit();
  EXPECT_TRUE(window.has_credits());
  window.commit();
  EXPECT_EQ(window.pending(), 3u);
  EXPECT_FALSE(window.has_credits());
  window.make_durable(7);  // such a machine has waited
  EXPECT_EQ(window.pending(), 0u);
  EXPECT_TRUE(window.has_credits());
  EXPECT_FALSE(window.should_sync());
}

TEST(LagWindow, KnowsTheAgeOfTheOldestUpdate) {
  Machine machine(false);
  LagWindow<Machine> window(machine, {.bound = 9, .age_ms = 3});
  machine.time = 0;
  EXPECT_EQ(window.age(), 0u);
  window.commit();
  window.wait();
  machine.time = 5;
  window.commit();
  window.wait();
  EXPECT_EQ(window.age(), 5u);
  machine.time = 29;
  EXPECT_FALSE(window.overdue());
  machine.time = 30;
  EXPECT_TRUE(window.overdue());
  window.make_durable(0);
  EXPECT_EQ(window.age(), 0u);
  EXPECT_FALSE(window.overdue());
  machine.time = 50;
  window.commit();
  window.wait();
  machine.time = 49;  // another processor's clock
  EXPECT_EQ(window.age(), 0u);
}

TEST(LagWindow, KeepsCreditsUntilThePositionIsDurable) {
  Machine machine;
  LagWindow<Machine> window(machine, {.bound = 4});
  window.commit();
  window.commit();
  window.make_durable(5);
  EXPECT_EQ(window.pending(), 2u);
  for (int i = 0; i < 3; ++i) {
    window.commit();
  }
  window.make_durable(9);
  EXPECT_FALSE(window.has_credits());
  machine.on_medium = 5;
  EXPECT_TRUE(window.has_credits());
  EXPECT_EQ(window.pending(), 3u);
  machine.on_medium = 9;
  EXPECT_EQ(window.pending(), 0u) << "before a credit is given back";
  EXPECT_TRUE(window.has_credits());
  EXPECT_EQ(window.pending(), 0u);
  window.commit();
  window.make_durable(9);  // durable already
  EXPECT_EQ(window.pending(), 0u);
}

// The medium may keep what was synced until more comes, or until a thread waits for it.
TEST(LagWindow, UpdatesAgeUntilTheirPositionIsDurable) {
  Machine machine;
  LagWindow<Machine> window(machine, {.bound = 9, .age_ms = 3});
  window.commit();
  window.wait();
  machine.time = 110;
  window.make_durable(5);
  EXPECT_EQ(window.age(), 10u);
  window.commit();
  machine.time = 112;
  window.make_durable(7);  // without a wait
  machine.time = 120;
  window.commit();
  window.wait();
  EXPECT_EQ(window.age(), 20u);
  machine.time = 130;
  EXPECT_TRUE(window.overdue());
  machine.on_medium = 5;
  EXPECT_TRUE(window.has_credits());
  EXPECT_EQ(window.age(), 18u);
  EXPECT_FALSE(window.overdue());
  machine.on_medium = 7;
  EXPECT_TRUE(window.has_credits());
  EXPECT_EQ(window.age(), 10u);
  window.make_durable(9);
  machine.on_medium = 9;
  EXPECT_EQ(window.age(), 0u) << "before a credit is given back";
  window.commit();
  EXPECT_TRUE(window.has_credits());
  window.wait();
  machine.time = 131;
  EXPECT_EQ(window.age(), 1u);
}

TEST(LagWindow, SyncsWhenHalfOfItsBoundIsNotSynced) {
  Machine machine;
  LagWindow<Machine> window(machine, {.bound = 4});
  const auto commits_until_sync = [&] {
    int n = 0;
    while (!window.should_sync()) {
      window.commit();
      ++n;
    }
    return n;
  };
  EXPECT_EQ(commits_until_sync(), 3);
  window.make_durable(5);
  EXPECT_EQ(commits_until_sync(), 3) << "those in flight do not count";
  machine.on_medium = 5;
  EXPECT_TRUE(window.has_credits());
  EXPECT_TRUE(window.should_sync()) << "what was in flight was synced";
  window.make_durable(5);
  EXPECT_EQ(commits_until_sync(), 3);
}

/// An update of an engine whose psync is deferred.
void update(Machine& machine, PositionLag<Machine>& lag, Commit commit) {
  lag.begin(commit);
  machine.synced += 10;
  machine.time += 1;
  lag.answer(commit);
}

TEST(PositionLag, PsyncsWaitUntilTheFirstUpdateThatCommitsLater) {
  Machine machine;
  PositionLag<Machine> lag(machine, {.bound = 8, .age_ms = 7});
  update(machine, lag, Commit::durable);
  update(machine, lag, Commit::unsaid);
  EXPECT_EQ(machine.lags, std::vector<uint64_t>());
  EXPECT_EQ(machine.awaited, std::vector<uint64_t>()) << "the engine has waited itself";
  update(machine, lag, Commit::later);
  update(machine, lag, Commit::later);
  EXPECT_EQ(machine.lags, std::vector<uint64_t>{7});
  EXPECT_EQ(machine.awaited, std::vector<uint64_t>());
  update(machine, lag, Commit::durable);
  EXPECT_EQ(machine.awaited, std::vector<uint64_t>{50});
  update(machine, lag, Commit::unsaid);
  EXPECT_EQ(machine.awaited, (std::vector<uint64_t>{50, 60}));
}

TEST(PositionLag, UpdatesWithoutAWordFollowTheOption) {
  Machine machine;
  PositionLag<Machine> lag(machine, {.bound = 8, .age_ms = 7, .later = true});
  update(machine, lag, Commit::unsaid);
  EXPECT_EQ(machine.lags, std::vector<uint64_t>{7});
  EXPECT_EQ(machine.awaited, std::vector<uint64_t>());
}

TEST(PositionLag, WaitsForTheOldestMarkBeyondItsBound) {
  Machine machine;
  PositionLag<Machine> lag(machine, {.bound = 8});  // a mark for each two updates
  for (int i = 0; i < 8; ++i) {
    update(machine, lag, Commit::later);
  }
  EXPECT_EQ(machine.awaited, std::vector<uint64_t>());
  EXPECT_EQ(lag.pending().count, 8u);
  update(machine, lag, Commit::later);
  EXPECT_EQ(machine.awaited, std::vector<uint64_t>{20});
  EXPECT_EQ(lag.pending().count, 7u);
  update(machine, lag, Commit::later);
  EXPECT_EQ(machine.awaited, std::vector<uint64_t>{20});
  update(machine, lag, Commit::later);
  EXPECT_EQ(machine.awaited, (std::vector<uint64_t>{20, 40}));
}

TEST(PositionLag, ASmallBoundHasAMarkForEachUpdate) {
  Machine machine;
  PositionLag<Machine> lag(machine, {.bound = 2});
  for (int i = 0; i < 4; ++i) {
    update(machine, lag, Commit::later);
  }
  EXPECT_EQ(machine.awaited, (std::vector<uint64_t>{10, 20}));
}

TEST(PositionLag, TellsHowManyUpdatesWaitAndHowLong) {
  Machine machine;
  PositionLag<Machine> lag(machine, {.bound = 8});
  EXPECT_EQ(lag.pending().count, 0u);
  for (int i = 0; i < 4; ++i) {
    update(machine, lag, Commit::later);
  }
  EXPECT_EQ(lag.pending().count, 4u);
  EXPECT_EQ(lag.pending().age, 4u);  // since the first one began
  machine.on_medium = 20;            // a mark at time 102
  EXPECT_EQ(lag.pending().count, 2u);
  EXPECT_EQ(lag.pending().age, 2u);
  lag.fence();
  EXPECT_EQ(machine.awaited, std::vector<uint64_t>{40});
  EXPECT_EQ(lag.pending().count, 0u);
  EXPECT_EQ(lag.pending().age, 0u);
  machine.time = 200;
  update(machine, lag, Commit::later);
  EXPECT_EQ(lag.pending().count, 1u);
  EXPECT_EQ(lag.pending().age, 1u);
}

}  // namespace
}  // namespace holdfast::lag_parts_test
