// SPDX-License-Identifier: Apache-2.0
// Does design `tc` take exactly as long, and write exactly as much, as its rules say?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_fixture.h"
#include "tests/unit/hardware/design_rules.h"

namespace holdfast::design_test::tc_test {
namespace {

// At 1 GHz a TC reads in 40 ns and writes in 50. A write needs 5 ns to the controller (tiny.toml:
// path_ns 10), so a line takes 45 ns more to reach the medium.
constexpr uint64_t kPut = 50;
constexpr uint64_t kDrain = 45;

/// Brings these lines into L1 with the right to store.
void own_lines(DesignMachine& m, size_t lines) {
  for (size_t line = 0; line < lines; ++line) {
    m.set(line, 0);
  }
  m->fence();
}

TEST(SimTc, ACommitWaitsUntilTheLastPutIsDone) {
  for (const size_t lines : {1u, 8u}) {
    DesignMachine m(options(roomy(), "tc"));
    m.run([&] {
      own_lines(m, 8);
      m.transaction(0, lines, 1);
      m->fence();
    });
    // The marker leaves the store buffer a cycle after the last store; puts are pipelined.
    EXPECT_EQ(m->design_counters().commit_waits, (kPut - 1) * kNs) << lines;
    EXPECT_EQ(m.count("puts"), lines);
  }
}

TEST(SimTc, AFullTcStallsAStoreUntilItsOldestEntryIsOnTheMedium) {
  for (const size_t entries : {1u, 2u, 64u}) {
    DesignMachine m(options(roomy(), "tc", {{"bytes", std::to_string(64 * entries)}}));
    m.run([&] {
      own_lines(m, 80);
      m.transaction(0, entries, 1);
      m->tx_start();
      m.set(70, 2);
      m->tx_commit();
      m->fence();
    });
    // The store reaches the end of the buffer at the instant of the commit.
    EXPECT_EQ(m->design_counters().store_waits, kDrain * kNs) << entries;
    EXPECT_EQ(m.count("spills"), 0u);
  }
}

TEST(SimTc, OneFreeEntryIsEnough) {
  DesignMachine m(options(roomy(), "tc"));
  m.run([&] {
    own_lines(m, 80);
    m.transaction(0, 63, 1);
    m.transaction(70, 1, 2);
    m->fence();
  });
  EXPECT_EQ(m->design_counters().store_waits, 0u);
}

TEST(SimTc, StoresToOneLineMergeInItsEntry) {
  DesignMachine m(options(roomy(), "tc"));
  m.run([&] {
    own_lines(m, 2);
    m->tx_start();
    for (uint64_t i = 0; i < 30; ++i) {
      m.set(i % 2, i, i % 8);
    }
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m.count("puts"), 2u);
  EXPECT_EQ(m.count("merges"), 28u);
  m.settle();
  EXPECT_EQ(m->design_counters().writes, 2u);
}

TEST(SimTc, AMissProbesTheTcsBeforeTheMedium) {
  uint64_t without = 0;
  {
    DesignMachine m(options(tiny(), volatile_design()));
    m.run([&] { without = m.load_ns(50); });
  }
  DesignMachine m(options(tiny(), "tc"));
  m.run([&] { EXPECT_EQ(m.load_ns(50), without + 40); });
}

TEST(SimTc, WithTheProbeBesideTheMediumAMissCostsNoMore) {
  uint64_t times[2] = {};
  for (const int first : {0, 1}) {
    DesignMachine m(options(tiny(), "tc", {{"probe_first", std::to_string(first)}}));
    m.run([&] { times[first] = m.load_ns(50); });
  }
  EXPECT_EQ(times[1], times[0] + 40);
}

TEST(SimTc, AMissIsServedFromTheNewestEntryWhileTheTransactionRuns) {
  DesignMachine m(options(tiny(), "tc"));
  m.run([&] {
    m.transaction(0, 1, 1);  // committed, and on its way to the medium
    m->tx_start();
    m.set(0, 2);
    m->fence();
    const uint64_t reads = m->statistics().medium_reads;
    push_out(m);
    const uint64_t others = m->statistics().medium_reads - reads;
    EXPECT_EQ(others, 40u);
    // 10 ns to the last level and 40 for the probe, beside the operations themselves.
    const uint64_t time = m.load_ns(0);
    EXPECT_GE(time, 50u);
    EXPECT_LE(time, 53u);
    EXPECT_EQ(m.get(0), 2u) << "its bytes were compared with memory as well";
    EXPECT_EQ(m->statistics().medium_reads - reads, others);
    m->tx_commit();
  });
  EXPECT_EQ(m->design_counters().fills, 1u);
}

TEST(SimTc, OneCoresEntryServesAnother) {
  DesignMachine m(options(tiny(), "tc"));
  auto* turn = make_array<SimMachine::Atomic<uint64_t>>(m.machine(), 1);
  m->run_threads(2, [&](int worker) {
    if (worker == 0) {
      m->tx_start();
      m.set(0, 5);
      m->fence();
      push_out(m);
      turn->store(1);
      m->wait_while(*turn, uint64_t{1});
      m->tx_commit();
    } else {
      m->wait_while(*turn, uint64_t{0});
      EXPECT_EQ(m.get(0), 5u);
      turn->store(2);
    }
  });
  EXPECT_EQ(m->design_counters().fills, 1u);
}

// Swaps two elements of 256 bytes: eight lines, each written once.
TEST(SimTc, SwappingTwoElementsOfFourLinesWritesExactlyEightLines) {
  for (const bool evictions : {false, true}) {
    DesignMachine m(options(evictions ? tiny() : roomy(), "tc"));
    constexpr uint64_t kTransactions = 100;
    m.run([&] {
      Random random(5);
      for (uint64_t i = 0; i < kTransactions; ++i) {
        const size_t a = random.below(32);
        const size_t b = (a + 1 + random.below(31)) % 32;
        m->tx_start();
        for (size_t word = 0; word < 32; ++word) {
          const uint64_t left = m.get(4 * a, word);
          m.set(4 * a, m.get(4 * b, word) + 1, word);
          m.set(4 * b, left + 1, word);
        }
        m->tx_commit();
      }
      m->fence();
    });
    m.settle();
    const DesignCounters counters = m->design_counters();
    EXPECT_EQ(counters.transactions, kTransactions);
    EXPECT_EQ(counters.writes, 8 * kTransactions);
    EXPECT_EQ(counters.written_back, 0u) << "dropped evictions are not written as well";
    EXPECT_EQ(m->statistics().medium_writes, 8 * kTransactions);
    EXPECT_EQ(counters.dropped > 0, evictions);
    EXPECT_EQ(m.count("spills"), 0u);
  }
}

TEST(SimTc, WhatIsStoredOutsideTransactionsIsWrittenBackAsEver) {
  DesignMachine m(options(tiny(), "tc"));
  m.run([&] {
    m.set(0, 7);
    m->fence();
    push_out(m);
    EXPECT_EQ(m->design_counters().written_back, 1u);
    m.set(1, 8);
    m->pwb(m.word(1));
    m->psync();
    EXPECT_EQ(m->design_counters().written_back, 2u);
  });
  const SimImage image = m->earliest_image();
  EXPECT_EQ(DesignMachine::in_image(image, 0), 7u);
  EXPECT_EQ(DesignMachine::in_image(image, 1), 8u);
}

TEST(SimTc, AStoreOutsideATransactionToALineOfOneIsNotLost) {
  for (const bool drained : {false, true}) {
    DesignMachine m(options(tiny(), "tc"));
    m.run([&] {
      m.transaction(0, 1, 1);
      if (drained) {
        m->work(1000);
        push_out(m, 60);
        m.transaction(0, 1, 2);
        m->work(1000);
        m.get(55);
      }
      m.set(0, 9, 4);
      m->fence();
      push_out(m);
      EXPECT_EQ(m.get(0, 4), 9u);
    });
    m.settle();
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0, 4), 9u) << drained;
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), drained ? 2u : 1u);
  }
}

TEST(SimTc, ATransactionLargerThanTheTcSpillsToALogAndComesHome) {
  for (const bool evictions : {false, true}) {
    DesignMachine m(options(evictions ? tiny() : roomy(), "tc", {{"bytes", "256"}}));
    m.run([&] {
      m.transaction(0, 10, 1);
      m->fence();
      for (size_t line = 0; line < 10; ++line) {
        EXPECT_EQ(m.get(line), 1u);
      }
    });
    m.settle();
    EXPECT_EQ(m.count("spills"), 6u);
    EXPECT_EQ(m.count("drained"), 10u);
    // Writes: six lines and two of their descriptions go to the log, and ten lines go home. Reads:
    // six lines come back from the log, plus those that the loads missed.
    EXPECT_EQ(m->design_counters().writes, 6 + 2 + 10u);
    EXPECT_GE(m->design_counters().reads, 6u);
    const SimImage image = m->earliest_image();
    for (size_t line = 0; line < 10; ++line) {
      EXPECT_EQ(DesignMachine::in_image(image, line), 1u) << line;
    }
  }
}

/// The time for which a store waits until a transaction with 18 records is home.
uint64_t wait_for_records(int reads) {
  MachineDescription machine = roomy();
  machine.medium.read_queue = reads;
  machine.medium.write_queue = 64;
  DesignMachine m(options(machine, "tc", {{"bytes", "128"}}));
  uint64_t before = 0;
  m.run([&] {
    own_lines(m, 60);
    m.transaction(0, 20, 1);
    m->fence();
    before = m->design_counters().store_waits;
    m.transaction(50, 1, 2);
    m->fence();
  });
  return (m->design_counters().store_waits - before) / kNs;
}

TEST(SimTc, ADrainDoesNotWaitForTheWholeLatencyOfEachReadOfTheLog) {
  const uint64_t read = 50;  // tiny.toml
  EXPECT_GE(wait_for_records(1), 18 * read);
  EXPECT_LE(wait_for_records(64) + 8 * read, wait_for_records(1)) << "two banks";
}

/// A record that has been read back when its line changes outside transactions is read again.
TEST(SimTc, AStoreOutsideATransactionToARecordThatWasReadIsNotLost) {
  DesignMachine m(options(tiny(), "tc", {{"bytes", "128"}}));
  m.run([&] {
    m.transaction(0, 12, 1);
    m->fence();
    m.set(9, 7, 4);
    push_out(m, 60);
    m->fence();
  });
  m.settle();
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 9), 1u);
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 9, 4), 7u);
}

TEST(SimTc, AStoreToASpilledLineReplacesWhatTheLogHas) {
  DesignMachine m(options(tiny(), "tc", {{"bytes", "128"}}));
  m.run([&] {
    m->tx_start();
    m.set(0, 1);
    m.set(1, 2);
    m.set(2, 3);     // line 0 goes to the log
    m.set(0, 4, 1);  // line 0 comes back, and line 1 goes
    m.set(1, 5, 1);  // line 1 comes back, and line 2 goes
    m->tx_commit();
    m->fence();
  });
  m.settle();
  EXPECT_EQ(m.count("spills"), 3u);
  EXPECT_EQ(m.count("drained"), 3u) << "a line comes home once";
  const SimImage image = m->earliest_image();
  EXPECT_EQ(DesignMachine::in_image(image, 0), 1u);
  EXPECT_EQ(DesignMachine::in_image(image, 0, 1), 4u);
  EXPECT_EQ(DesignMachine::in_image(image, 1), 2u);
  EXPECT_EQ(DesignMachine::in_image(image, 1, 1), 5u);
  EXPECT_EQ(DesignMachine::in_image(image, 2), 3u);
}

TEST(SimTc, AnAbortRestoresTheLastCommittedBytesFromTcOrMedium) {
  for (const uint64_t rest : {0u, 2000u}) {  // the old bytes are in the TC, or on the medium
    DesignMachine m(options(tiny(), "tc", {{"bytes", "512"}}));
    m.run([&] {
      m.transaction(0, 4, 1);
      m->fence();
      m->work(rest);
      m->tx_start();
      for (size_t line = 0; line < 12; ++line) {
        m.set(line, 2);
      }
      m->tx_abort();
      for (size_t line = 0; line < 12; ++line) {
        EXPECT_EQ(m.get(line), line < 4 ? 1u : 0u) << line;
      }
      m.transaction(11, 1, 3);
      m->fence();
    });
    m.settle();
    const SimImage image = m->earliest_image();
    for (size_t line = 0; line < 12; ++line) {
      EXPECT_EQ(DesignMachine::in_image(image, line), line < 4 ? 1u : line == 11 ? 3u : 0u);
    }
    EXPECT_EQ(m->design_counters().aborts, 1u);
  }
}

TEST(SimTc, OlderBytesInAnotherCoresTcAreOnTheMediumFirst) {
  DesignMachine m(options(roomy(), "tc"));
  auto* turn = make_array<SimMachine::Atomic<uint64_t>>(m.machine(), 1);
  m->run_threads(2, [&](int worker) {
    if (worker == 0) {
      m.transaction(0, 30, 1);  // line 29 drains last
      turn->store(1);
    } else {
      m->wait_while(*turn, uint64_t{0});
      m.transaction(29, 1, 2);  // would drain first if it did not wait
      m->fence();
    }
  });
  m.settle();
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 29), 2u);
  EXPECT_EQ(m->design_counters().writes, 31u);
}

TEST(SimTc, RecoveryCanBeInterruptedAndRepeated) {
  const SimOptions o = options(roomy(), "tc");
  SimImage image;
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 8, 1);
      m.transaction(4, 8, 2);
      m->tx_start();
      m.set(2, 3);
      m->fence();
    });
    image = m->earliest_image();
  }
  const auto expect_whole = [&](const SimImage& recovered) {
    for (size_t line = 0; line < 12; ++line) {
      EXPECT_EQ(DesignMachine::in_image(recovered, line), line < 4 ? 1u : 2u) << line;
    }
  };
  uint64_t events = 0;
  {
    SimMachine whole(o, image);
    whole.power_on();
    EXPECT_GE(whole.design_recovery().transactions, 1u);
    EXPECT_EQ(whole.design_recovery().discarded, 1u);
    EXPECT_GT(whole.design_recovery().duration, 0u);
    events = whole.persist_events();
    expect_whole(whole.earliest_image());
  }
  EXPECT_GT(events, 12u) << "lines written, entries given up";
  for (uint64_t event = 0; event < events; ++event) {
    SimImage partly;
    {
      SimMachine interrupted(o, image);
      interrupted.crash_at(event);
      EXPECT_THROW(interrupted.power_on(), Error);
      partly = interrupted.earliest_image();
    }
    SimMachine again(o, partly);
    again.power_on();
    expect_whole(again.earliest_image());
  }
}

TEST(SimTc, RefusesOptionsThatMakeNoSense) {
  EXPECT_NE(make_design("tc", {{"size", "1"}}).status().message().find("bytes"), std::string::npos);
  EXPECT_EQ(make_design("tc", {{"bytes", "x"}}).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace holdfast::design_test::tc_test
