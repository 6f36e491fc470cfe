// SPDX-License-Identifier: Apache-2.0
// Does Proteus take as long, and write as much, as its rules say? The tests have the numbers of the
// rules on docs/reference/hardware/proteus.md.
#include <gtest/gtest.h>

#include <numeric>

#include "holdfast/hardware/parts/hardware_slots.h"
#include "tests/unit/hardware/design_rules.h"
#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::proteus_test {
namespace {

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  return options(machine, "proteus", more);
}

// ---- the log

TEST(Proteus, Rule01ABlockOf32BytesIsLoggedAtItsFirstStore) {
  DesignMachine m(on(patient(32)));
  m.run([&] {
    m->tx_start();
    for (size_t word = 0; word < 8; ++word) {
      m.set(0, 1, word);
    }
    m.set(1, 1);
    m.set(0, 2);
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m.count("logged"), 3u);
  EXPECT_EQ(m.count("filtered"), 7u);
  EXPECT_EQ(written(m, Cause::log), 3u);
}

TEST(Proteus, Rule01EachTransactionLogsItsBlocksAnew) {
  DesignMachine m(on(patient(32)));
  m.run([&] {
    m.transaction(0, 2, 1);
    m.transaction(0, 2, 2);
    m->fence();
  });
  EXPECT_EQ(m.count("logged"), 4u);
}

TEST(Proteus, Rule02TheLookUpTableForgetsTheBlockUsedLeastRecently) {
  DesignMachine m(on(patient(32), {{"llt", "2"}}));
  m.run([&] {
    m->tx_start();
    for (const size_t line : {0u, 1u, 0u, 2u, 0u, 1u}) {  // line 2 takes the place of line 1
      m.set(line, 1);
    }
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m.count("logged"), 4u);
  EXPECT_EQ(m.count("filtered"), 2u);
}

// The way to the controller takes 5 ns, and the thread makes a store each nanosecond. With one
// entry the second store comes 4 ns too early, and the others when an entry has just been taken.
TEST(Proteus, Rule03AStoreWaitsOnlyForAnEntryOfTheLogQueue) {
  for (const auto& [logq, waits] : {std::pair("1", (4 + 5 + 5) * kNs),
                                    std::pair("2", (3 + 1) * kNs), std::pair("4", 0 * kNs)}) {
    DesignMachine m(on(patient(32), {{"logq", logq}}));
    m.run([&] {
      warm(m, 4);
      m->tx_start();
      for (size_t line = 0; line < 4; ++line) {
        m.set(line, 1);
      }
      m->fence();
      EXPECT_EQ(m->design_counters().store_waits, waits) << logq;
      m->tx_commit();
    });
  }
}

// Seven lines wait in the queue, which has eight entries. The log entry of line 0 is the eighth.
// The entry of line 6 is accepted when a bank has written. The line itself would merge with its
// earlier write at once.
TEST(Proteus, Rule04ALineGoesHomeBehindItsLogEntries) {
  MachineDescription machine = roomy();
  machine.medium.write_queue = 8;
  machine.medium.drain_high = 1;
  machine.medium.drain_low = 0.9;
  const SimOptions o = on(machine);
  std::vector<SimImage> images;
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 7, 1);
      m->fence();
      m->before_persist_event([&](uint64_t) { images.push_back(m->earliest_image()); });
      m->tx_start();
      m.set(0, 2);
      m.set(6, 2);
      m->pwb(m.word(6));
      m->psync();
      images.push_back(m->earliest_image());
      m->before_persist_event({});
    });
    EXPECT_EQ(m->medium_counters().merged, 1u) << "with its earlier write";
  }
  EXPECT_EQ(DesignMachine::in_image(images.back(), 6), 2u) << "the line is at home";
  for (const SimImage& image : images) {
    const DesignMachine m(o, image);
    EXPECT_EQ(m.get(6), 1u);
  }
}

// The other thread's commit writes the line home with both threads' blocks, just behind the log
// entry of its own block. With each disturbance the entries come in another order.
TEST(Proteus, Rule04ALineOfTwoTransactionsWaitsForBothLogs) {
  for (uint64_t disturb = 1; disturb < 100; ++disturb) {
    SimOptions o = small_tables(on(roomy()));
    o.disturb = disturb;
    SimImage image;
    {
      DesignMachine m(o, {}, kSweepBytes);
      m->run_threads(2, [&](int worker) {
        m.get(0);
        m->sleep_until(worker == 0 ? 10'000'000 : 10'030'000);
        m->tx_start();
        m.set(0, 7, worker == 0 ? 4 : 0);
        if (worker == 0) {
          m->sleep_until(40'000'000);
        }
        m->tx_commit();
        m->fence();
        if (worker == 1) {
          image = m->earliest_image();
        }
      });
    }
    const DesignMachine m(o, image, kSweepBytes);
    EXPECT_EQ(m.get(0), 7u) << disturb;
    EXPECT_EQ(m.get(0, 4), 0u) << disturb;
  }
}

// ---- commits

// At 1 GHz half of path_ns is 5 ns, and a look-up of the last level takes 10.
TEST(Proteus, Rule05ACommitWaitsForItsLinesInTheQueue) {
  for (const size_t lines : {1u, 8u}) {
    DesignMachine m(on(patient(32)));
    m.run([&] {
      warm(m, lines);
      m->tx_start();
      for (size_t line = 0; line < lines; ++line) {
        m.set(line, 1);
      }
      m->fence();
      m->work(1000);  // the log is accepted
      m->tx_commit();
      m->fence();
    });
    EXPECT_EQ(m->design_counters().commit_waits, 15 * kNs) << lines;
  }
}

TEST(Proteus, Rule05LinesAreWrittenBackWhenTheLogIsAccepted) {
  DesignMachine m(on(patient(32)));
  m.run([&] {
    warm(m, 1);
    m->tx_start();
    m.set(0, 1);
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m->design_counters().commit_waits, (4 + 15) * kNs) << "the store left 1 ns before";
}

TEST(Proteus, Rule06ACommitDropsTheEntriesThatWait) {
  DesignMachine m(on(patient(32)));
  m.run([&] {
    m.transaction(0, 8, 1);
    m->fence();
  });
  EXPECT_EQ(m.count("dropped"), 8u);
  EXPECT_EQ(m.count("spilled"), 0u);
  EXPECT_EQ(m->design_counters().cancelled, 8u);
  EXPECT_EQ(media_writes(m), 8u) << "the lines only";
}

// tiny.toml: the queue has four entries, and begins to write when two of them wait.
TEST(Proteus, Rule06EntriesThatTheMediumHasBegunAreSpilled) {
  DesignMachine m(on(roomy()));
  m.run([&] {
    m.transaction(0, 8, 1);
    m->fence();
  });
  EXPECT_GT(m.count("spilled"), 0u);
  EXPECT_EQ(m.count("dropped") + m.count("spilled"), 8u);
  EXPECT_EQ(media_writes(m), 8 + m.count("spilled"));
}

TEST(Proteus, Rule07ATransactionThatStoresNothingChangesNothing) {
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

// ---- aborts

TEST(Proteus, Rule08AnAbortPutsTheOldBytesHome) {
  for (const char* llt : {"64", "1"}) {
    SimImage image;
    const SimOptions o = on(tiny(), {{"llt", llt}});
    {
      DesignMachine m(o);
      m.run([&] {
        m.transaction(0, 20, 1);
        m.set(20, 5);  // outside transactions
        m->tx_start();
        for (const uint64_t value : {2u, 3u}) {
          for (size_t line = 0; line < 21; ++line) {  // more than the caches hold
            m.set(line, value);
          }
        }
        m->tx_abort();
        for (size_t line = 0; line < 20; ++line) {
          EXPECT_EQ(m.get(line), 1u) << line;
        }
        EXPECT_EQ(m.get(20), 5u);
      });
      image = m->earliest_image();
    }
    DesignMachine m(o, image);
    EXPECT_EQ(m->design_recovery().discarded, 0u);
    for (size_t line = 0; line < 20; ++line) {
      EXPECT_EQ(m.get(line), 1u) << line;
    }
  }
}

// ---- recovery

TEST(Proteus, Rule09RecoveryWritesOldBytesHomeOnceForEachLine) {
  SimImage image;
  const SimOptions o = on(roomy(), {{"llt", "1"}});
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 2, 1);
      m->tx_start();
      for (const uint64_t value : {2u, 3u}) {
        m.set(0, value);
        m.set(0, value, 4);
        m.set(1, value);
      }
      m->pwb(m.word(0));
      m->psync();
    });
    image = m->earliest_image();
    EXPECT_EQ(DesignMachine::in_image(image, 0), 3u);
  }
  DesignMachine m(o, image);
  EXPECT_EQ(m->design_recovery().discarded, 1u);
  EXPECT_EQ(m->design_recovery().lines_written, 2u);
  EXPECT_EQ(written(m, Cause::recovery), 2u);
  EXPECT_EQ(m->persist_events(), 2 + hardware_slots(roomy())) << "two lines and all registers";
  EXPECT_EQ(m.get(0), 1u);
  EXPECT_EQ(m.get(0, 4), 0u);
  EXPECT_EQ(m.get(1), 1u);
}

TEST(Proteus, Rule09EntriesOfEarlierTransactionsDoNotCount) {
  SimImage image;
  const SimOptions o = on(roomy(), {{"area", "4096"}});  // 64 entries
  {
    DesignMachine m(o);
    m.run([&] {
      for (uint64_t n = 1; n <= 20; ++n) {
        m.transaction(0, 7, n);
      }
      m->fence();
    });
    EXPECT_GT(m.count("spilled"), 64u) << "the log has wrapped around";
    image = m->earliest_image();
  }
  DesignMachine m(o, image);
  EXPECT_EQ(m->design_recovery().discarded, 0u);
  EXPECT_EQ(m->design_recovery().lines_written, 0u);
  EXPECT_EQ(m.get(6), 20u);
}

// ---- limits

TEST(Proteus, Rule10ATransactionMustFitIntoTheLog) {
  DesignMachine m(on(roomy(), {{"area", "4096"}}));
  const auto blocks = [&](size_t n) {
    m->tx_start();
    for (size_t block = 0; block < n; ++block) {
      m.set(block / 2, 1, block % 2 * 4);
    }
    m->tx_commit();
    m->fence();
  };
  m.run([&] { blocks(64); });
  EXPECT_THROW(m.run([&] { blocks(65); }), Error);
}

TEST(Proteus, RefusesCachesThatSurvive) {
  SimOptions o = on(tiny());
  EXPECT_EQ(o.domain, Domain::pmem);
  o.domain = Domain::eadr;
  EXPECT_THROW(SimMachine{o}, Error);
  EXPECT_EQ(make_design("proteus", {{"printed", "all"}}).status().code(), Code::invalid_argument);
  EXPECT_EQ(make_design("proteus", {{"logq", "0"}}).status().code(), Code::invalid_argument);
}

TEST(Proteus, WritesAddUpToTheControllersCount) {
  DesignMachine m(on(tiny()));
  m.run([&] {
    for (uint64_t n = 1; n <= 5; ++n) {
      m.transaction(0, 12, n);
    }
    m->fence();
  });
  const DesignCounters counters = m->design_counters();
  const uint64_t sum =
      std::accumulate(std::begin(counters.by_cause), std::end(counters.by_cause), uint64_t{0});
  EXPECT_EQ(sum, m->medium_counters().writes);
  EXPECT_EQ(sum, written(m, Cause::log) + written(m, Cause::write_back));
  EXPECT_EQ(m.count("dropped") + m.count("spilled"), m.count("logged"));
  EXPECT_EQ(counters.cancelled, m.count("dropped"));
}

}  // namespace
}  // namespace holdfast::design_test::proteus_test
