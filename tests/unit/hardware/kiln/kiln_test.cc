// SPDX-License-Identifier: Apache-2.0
// Does Kiln take as long, and write as much, as its rules say, and survive every power failure?
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/hardware/design_rules.h"
#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::kiln_test {
namespace {

/// A last level of 16 lines in two sets, and few entries of the queue.
const Options kSmall = {{"bytes", "1024"}, {"queue", "3"}};
/// A last level that holds all lines of the sweeps.
const Options kLarge = {{"bytes", "4096"}};
/// The small last level, and no limit of the queue: only full sets use the log.
const Options kNoQueue = {{"bytes", "1024"}, {"queue", "0"}};

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  return options(machine, "kiln", more);
}

/// For searches, which make many machines: small tables.
SimOptions small(const Options& more) {
  SimOptions o = on(tiny(), more);
  o.arena_bytes = o.medium_limit = size_t{1} << 20;
  o.pages = std::make_shared<sim::HostPages>();
  return o;
}

/// L1 and L2 of eight lines each over a large last level.
MachineDescription narrow() {
  MachineDescription m = roomy();
  m.l1.bytes = m.l2.bytes = 512;
  return m;
}

/// The time that the commit of a transaction of so many lines waits. They are in L1 before.
Time commit_wait(size_t lines, const Options& more) {
  DesignMachine m(on(roomy(), more));
  m.run([&] {
    for (size_t line = 0; line < lines; ++line) {
      m.get(line);
    }
    m->fence();
    m.transaction(0, lines, 1);
    m->fence();
  });
  EXPECT_EQ(m.count("flushed"), lines);
  EXPECT_EQ(m->statistics().medium_writes, 0u);
  return m->design_counters().commit_waits;
}

// ---- the machine

TEST(Kiln, ReplacesTheLastLevelBySttRamOfFourTimesItsSize) {
  const std::string file = HOLDFAST_SOURCE_DIR "/experiments/machines/";
  MachineDescription m = load_machine(file + "gem5-hercules.toml").value();
  make_design("kiln", {}).value()->adapt(m);
  EXPECT_EQ(m.llc.bytes, size_t{64} << 20);
  EXPECT_EQ(m.llc.ways, 16);
  EXPECT_EQ(m.llc.hit_cycles, 50) << "40 of its own, 10 of L1 and L2";
  EXPECT_EQ(m.llc.write_cycles, 60);
}

TEST(Kiln, RefusesMachinesOnWhichItWouldLoseLines) {
  SimOptions o = on(tiny());
  EXPECT_EQ(o.domain, Domain::pmem);
  o.domain = Domain::eadr;
  EXPECT_THROW(SimMachine{o}, Error);
  MachineDescription slices = tiny();
  slices.llc.cores = 2;
  EXPECT_THROW(SimMachine{on(slices)}, Error);
  MachineDescription none = tiny();
  none.llc.bytes = 0;
  EXPECT_THROW(SimMachine{on(none)}, Error);
  EXPECT_EQ(make_design("kiln", {{"printed", "all"}}).status().code(), Code::invalid_argument);
}

TEST(Kiln, AReadOfTheLastLevelTakesFortyCyclesMoreThanOneOfL2) {
  DesignMachine m(on(narrow()));
  m.run([&] {
    m.get(0);
    push_out(m);
    EXPECT_EQ(m.load_ns(0) - m.load_ns(0), 43u) << "44 ns, and 1 ns in L1";
  });
}

// ---- commits

// Four cycles of L1 and L2, and 50 of the last level.
TEST(Kiln, ACommitTakesOneWriteOfTheLastLevel) {
  EXPECT_EQ(commit_wait(1, {}), 54 * kNs);
  EXPECT_EQ(commit_wait(1, {{"write_cycles", "70"}}), 74 * kNs);
}

TEST(Kiln, ABankTakesOneWriteAtATime) {
  EXPECT_EQ(commit_wait(8, {}), 54 * kNs) << "lines of eight banks";
  EXPECT_EQ(commit_wait(9, {}), 104 * kNs);
  EXPECT_EQ(commit_wait(4, {{"banks", "1"}}), 204 * kNs);
}

TEST(Kiln, ACommitMovesOnlyTheLinesAboveTheLastLevel) {
  DesignMachine m(on(narrow()));
  m.run([&] {
    m->tx_start();
    m.set(0, 1);
    m.set(1, 1);
    m->fence();
    push_out(m);
    m->tx_commit();
    m->fence();
    EXPECT_EQ(m.count("flushed"), 0u);
    EXPECT_EQ(m->design_counters().commit_waits, 0u);
    m->tx_start();
    m.set(0, 2);
    m.set(1, 2);
    m->fence();
    push_out(m, 200);
    m.set(1, 3);
    m->tx_commit();
    m->fence();
    EXPECT_EQ(m.count("flushed"), 1u) << "the line that came up again";
  });
}

TEST(Kiln, ATransactionThatStoresNothingChangesNothing) {
  DesignMachine m(on(roomy()));
  m.run([&] {
    m->tx_start();
    m.get(0);
    m->tx_commit();
    m->tx_start();
    m->tx_abort();
    m->fence();
  });
  EXPECT_EQ(m->persist_events(), 0u);
  EXPECT_EQ(m->design_counters().commit_waits, 0u);
}

TEST(Kiln, TheCommittedVersionGoesHomeWhenANewerOneTakesItsPlace) {
  SimImage image;
  {
    DesignMachine m(on(roomy()));
    m.run([&] {
      m.transaction(0, 3, 1);
      m->fence();
      EXPECT_EQ(m->statistics().medium_writes, 0u) << "the last level has it";
      m.transaction(0, 2, 2);
      m->fence();
    });
    EXPECT_EQ(m.count("displaced"), 2u);
    EXPECT_EQ(written(m, Cause::write_back), 2u);
    EXPECT_EQ(m->statistics().medium_writes, 2u);
    image = m->earliest_image();
    EXPECT_EQ(DesignMachine::in_image(image, 0), 1u) << "memory has the version before";
    EXPECT_EQ(DesignMachine::in_image(image, 2), 0u);
  }
  DesignMachine m(on(roomy()), image);
  EXPECT_EQ(m->design_recovery().lines_written, 3u);
  EXPECT_EQ(m.get(0), 2u);
  EXPECT_EQ(m.get(1), 2u);
  EXPECT_EQ(m.get(2), 1u);
}

TEST(Kiln, AnUncommittedVersionThatIsEvictedDisplacesTheCommittedOneToo) {
  DesignMachine m(on(narrow()));
  m.run([&] {
    m.transaction(0, 1, 1);
    m->tx_start();
    m.set(0, 2);
    m->fence();
    EXPECT_EQ(m.count("displaced"), 0u);
    push_out(m);
    EXPECT_EQ(m.count("displaced"), 1u);
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), 1u);
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m->statistics().medium_writes, 1u);
}

// ---- transactions that the last level cannot hold

TEST(Kiln, AFullSetRefusesALineAndTheLogTakesIt) {
  DesignMachine m(on(tiny(), kNoQueue));
  m.run([&] {
    m->tx_start();
    for (size_t line = 0; line < 40; ++line) {
      m.set(line, line + 1);
    }
    m->fence();
    push_out(m);
    EXPECT_EQ(m.count("overflowed"), 40u - 16) << "the last level keeps 16 lines";
    EXPECT_EQ(written(m, Cause::log), 24u);
    EXPECT_EQ(written(m, Cause::table), 3u) << "eight addresses in a line";
    EXPECT_EQ(written(m, Cause::write_back), 0u) << "nothing goes home before the commit";
    m->tx_commit();
    m->fence();
    EXPECT_EQ(written(m, Cause::migration), 24u);
    for (size_t line = 0; line < 40; ++line) {
      EXPECT_EQ(m.get(line), line + 1);
    }
  });
  EXPECT_EQ(m.count("reloaded"), 0u);
}

/// Begins a transaction that stores to lines and loads them, so that some come back from the log.
void store_and_load(DesignMachine& m, size_t lines) {
  m->tx_start();
  for (size_t line = 0; line < lines; ++line) {
    m.set(line, 1);
  }
  m->fence();
  for (size_t line = 0; line < lines; ++line) {
    EXPECT_EQ(m.get(line), 1u);
  }
}

TEST(Kiln, ALineOfTheLogComesBackUncommitted) {
  DesignMachine m(on(tiny(), kNoQueue));
  m.run([&] {
    store_and_load(m, 40);
    EXPECT_GE(m.count("reloaded"), 16u);
    EXPECT_EQ(written(m, Cause::write_back), 0u);
    m->tx_abort();
    for (size_t line = 0; line < 40; ++line) {
      EXPECT_EQ(m.get(line), 0u);
    }
  });
  EXPECT_EQ(written(m, Cause::migration), 0u);
}

TEST(Kiln, ALineOfTheLogThatCameBackDoesNotMigrate) {
  DesignMachine m(on(tiny(), kNoQueue));
  m.run([&] {
    store_and_load(m, 40);
    m->tx_commit();
    m->fence();
    EXPECT_GE(m.count("reloaded"), 16u);
    EXPECT_EQ(m.count("migrated"), m.count("overflowed") - m.count("reloaded"));
  });
}

TEST(Kiln, AFullQueueSendsItsOldestLineToTheLog) {
  DesignMachine m(on(roomy(), {{"queue", "4"}}));
  m.run([&] {
    m.transaction(0, 10, 1);
    m->fence();
    EXPECT_EQ(m.count("overflowed"), 6u);
    EXPECT_EQ(m.count("flushed"), 4u);
    EXPECT_EQ(written(m, Cause::log), 6u);
    EXPECT_EQ(written(m, Cause::table), 1u);
    EXPECT_EQ(written(m, Cause::migration), 6u);
    EXPECT_GT(m->design_counters().store_waits, 0u) << "for the controller";
    const SimImage image = m->earliest_image();
    EXPECT_EQ(DesignMachine::in_image(image, 5), 1u);
    EXPECT_EQ(DesignMachine::in_image(image, 6), 0u) << "the last level has it";
  });
}

TEST(Kiln, ALineOfTheLogThatIsStoredToAgainHasAnEntryAgain) {
  DesignMachine m(on(roomy(), {{"queue", "1"}}));
  m.run([&] {
    m->tx_start();
    m.set(0, 1);
    m.set(1, 1);  // line 0 goes to the log
    m.set(0, 2);  // line 1 does
    m->tx_commit();
    m->fence();
    EXPECT_EQ(m.count("overflowed"), 2u);
    EXPECT_EQ(m.count("migrated"), 1u);
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), 0u) << "the last level has it";
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 1), 1u);
  });
}

TEST(Kiln, AnAlmostFullQueueSendsLinesDownWithoutAWait) {
  Time waits[2];
  for (const bool reserve : {false, true}) {
    DesignMachine m(on(roomy(), {{"queue", "8"}, {"reserve_percent", reserve ? "50" : "0"}}));
    m.run([&] {
      for (size_t line = 0; line < 12; ++line) {
        m.get(line);
      }
      m->tx_start();
      for (size_t line = 0; line < 9; ++line) {
        m.set(line, 1);
        m->work(200);
      }
      m->fence();
      EXPECT_EQ(m.count("overflowed"), reserve ? 5u : 1u);
      waits[reserve ? 1 : 0] = m->design_counters().store_waits;
      m->tx_commit();
    });
  }
  EXPECT_GT(waits[0], 0u);
  EXPECT_EQ(waits[1], 0u);
}

// The line's copies are clean after it went to the log. Those of L1 and L2 leave, and with them its
// flag; then the transaction stores to it again.
TEST(Kiln, ALineOfTheLogThatIsStoredToAgainIsUncommittedAgain) {
  const SimOptions o = on(narrow(), {{"queue", "1"}});
  SimImage image;
  {
    DesignMachine m(o);
    m.run([&] {
      m->tx_start();
      m.set(0, 1);
      m.set(1, 1);
      m->fence();
      push_out(m);
      m.get(0);
      push_out(m);
      m.set(0, 2);
      m->fence();
      push_out(m);
      EXPECT_EQ(m.get(0), 2u);
    });
    EXPECT_EQ(m.count("reloaded"), 0u) << "the last level has a clean copy";
    image = m->earliest_image();
  }
  const DesignMachine m(o, image);
  EXPECT_EQ(m.get(0), 0u);
}

// ---- aborts

TEST(Kiln, AnAbortUncoversTheCommittedContent) {
  for (const char* queue : {"0", "1", "64"}) {
    for (const bool leaves : {false, true}) {
      DesignMachine m(on(tiny(), {{"bytes", "1024"}, {"queue", queue}}));
      m.run([&] {
        m.transaction(0, 3, 1);
        m.set(3, 5);  // outside transactions
        m->tx_start();
        m.set(0, 2);
        m.set(1, 2);
        m.set(3, 6);
        m->fence();
        if (leaves) {
          push_out(m);
        }
        m->tx_abort();
        for (size_t line = 0; line < 3; ++line) {
          EXPECT_EQ(m.get(line), 1u) << line;
        }
        EXPECT_EQ(m.get(3), 5u);
      });
    }
  }
}

// ---- traffic

TEST(Kiln, WritesDisplacedVersionsOverflowAndEvictionsOnly) {
  DesignMachine m(on(tiny(), kSmall));
  m.run([&] {
    for (uint64_t n = 1; n <= 5; ++n) {
      m.transaction(0, 12, n);
    }
    push_out(m);
  });
  m->fence();
  const DesignCounters counters = m->design_counters();
  const uint64_t sum =
      std::accumulate(std::begin(counters.by_cause), std::end(counters.by_cause), uint64_t{0});
  EXPECT_EQ(sum, m->statistics().medium_writes);
  EXPECT_EQ(written(m, Cause::log), m.count("overflowed"));
  EXPECT_EQ(written(m, Cause::migration), m.count("migrated"));
  EXPECT_EQ(m.count("overflowed"), 5u * 9) << "all but three of a transaction";
  EXPECT_EQ(written(m, Cause::table), 5u * 2);
  EXPECT_GE(written(m, Cause::write_back), m.count("displaced"));
  EXPECT_EQ(sum, written(m, Cause::log) + written(m, Cause::migration) + written(m, Cause::table) +
                     written(m, Cause::write_back));
}

// ---- power failures

TEST(Kiln, RecoveryKeepsTheCommittedLinesOfTheLastLevelAndDropsTheOthers) {
  SimImage image;
  {
    DesignMachine m(on(narrow()));
    m.run([&] {
      m.transaction(0, 2, 1);
      m->tx_start();
      m.set(2, 2);
      m->fence();
      push_out(m);
    });
    EXPECT_EQ(m->statistics().medium_writes, 0u);
    image = m->earliest_image();
  }
  DesignMachine m(on(narrow()), image);
  EXPECT_EQ(m->design_recovery().lines_written, 2u);
  EXPECT_EQ(m->design_recovery().discarded, 1u);
  EXPECT_EQ(m.get(0), 1u);
  EXPECT_EQ(m.get(1), 1u);
  EXPECT_EQ(m.get(2), 0u);
}

TEST(Kiln, EveryPowerFailureLeavesTheCommittedTransactions) {
  expect_durable(small(kLarge));
}

TEST(Kiln, EveryPowerFailureWithASmallLastLevelAndQueue) {
  expect_durable(small(kSmall), {.most_lines = 12});
}

TEST(Kiln, LongPowerFailures) {
  expect_durable(small(kLarge), {}, false);
  expect_durable(small(kSmall), {.most_lines = 20}, false);
  expect_durable(small(kNoQueue), {.most_lines = 20}, false);
}

TEST(Kiln, SentencesAtTheirWordLoseTransactions) {
  for (const char* printed : {"states", "overwrite"}) {
    Options more = kSmall;
    more["printed"] = printed;
    EXPECT_GT(wrong_images(small(more), {.most_lines = 12}), 0u) << printed;
  }
}

TEST(Kiln, ALineThatIsForcedHomeSurvivesItsTransaction) {
  for (const char* printed : {"none", "home"}) {
    const SimOptions o = on(roomy(), {{"queue", "1"}, {"printed", printed}});
    SimImage image;
    {
      DesignMachine m(o);
      m.run([&] {
        m->tx_start();
        m.set(0, 1);
        m.set(1, 1);
        push_out(m);  // meanwhile the controller accepts what was sent
      });
      image = m->earliest_image();
    }
    const DesignMachine m(o, image);
    EXPECT_EQ(m.get(0), printed == std::string("home") ? 1u : 0u) << printed;
  }
}

}  // namespace
}  // namespace holdfast::design_test::kiln_test
