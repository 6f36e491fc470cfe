// SPDX-License-Identifier: Apache-2.0
// Does FWB take as long, and write as much, as its rules say? The tests have the numbers of the
// rules on docs/reference/hardware/fwb.md.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/hardware/design_rules.h"
#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::fwb_test {
namespace {

/// No scan comes by time.
const Options kNoScan = {{"scan_cycles", "1000000000"}};

SimOptions on(const MachineDescription& machine, const Options& more = kNoScan) {
  return options(machine, "fwb", more);
}

// ---- the log

// A line has room for 56 bytes of records, and a record has 24.
TEST(Fwb, Rule01EachStoreMakesARecordAndSevenRecordsMakeThreeLines) {
  DesignMachine m(on(patient(64)));
  m.run([&] {
    m->tx_start();
    for (const uint64_t value : {1u, 2u, 3u}) {
      m.set(0, value);
      m.set(0, value, 1);
    }
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m.count("records"), 6u + 1);
  EXPECT_EQ(written(m, Cause::log), 3u);
}

TEST(Fwb, Rule02ALineThatWasNotFullGetsTheNextRecords) {
  DesignMachine m(on(patient(64)));
  m.run([&] {
    m.transaction(0, 4, 1);  // five records
    m->fence();
    m.transaction(0, 1, 2);  // two
    m->fence();
  });
  EXPECT_EQ(m.count("records"), 7u);
  EXPECT_EQ(written(m, Cause::log), 4u) << "the third line was written twice";
  EXPECT_EQ(media_writes(m), 3u) << "but only once by the medium";
}

// The way to the controller takes 5 ns, and the thread makes a store each nanosecond. With two
// entries the third store and the fifth find records in the buffer that wait for others. These are
// sent then.
TEST(Fwb, Rule03AStoreWaitsForAnEntryOfTheLogBuffer) {
  for (const auto& [buffer, waits] : {std::pair("16", 0 * kNs), std::pair("2", (5 + 5) * kNs)}) {
    Options more = kNoScan;
    more["buffer"] = buffer;
    DesignMachine m(on(patient(64), more));
    m.run([&] {
      warm(m, 6);
      m->tx_start();
      for (size_t line = 0; line < 6; ++line) {
        m.set(line, 1);
      }
      m->fence();
      EXPECT_EQ(m->design_counters().store_waits, waits) << buffer;
      m->tx_commit();
    });
  }
}

// Sixteen entries of the queue are in use: seven lines and four lines of the log of the transaction
// before, which the next one completes, and five lines of the log of that. Its next line of the log
// waits, and the line of data would merge with its earlier write at once.
TEST(Fwb, Rule04ALineGoesHomeBehindItsRecords) {
  const SimOptions o = on(patient(16));
  std::vector<SimImage> images;
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 7, 1);
      for (size_t line = 0; line < 7; ++line) {
        m->pwb(m.word(line));
      }
      m->fence();
      m->before_persist_event([&](uint64_t) { images.push_back(m->earliest_image()); });
      m->tx_start();
      for (size_t line = 10; line < 24; ++line) {
        m.set(line, 2);
      }
      m.set(6, 2);
      m.set(6, 3);
      m->fence();
      const uint64_t merged = m->medium_counters().merged;
      m->pwb(m.word(6));
      m->psync();
      EXPECT_EQ(m->medium_counters().merged, merged + 1) << "with its earlier write";
      images.push_back(m->earliest_image());
      m->before_persist_event({});
    });
  }
  EXPECT_EQ(DesignMachine::in_image(images.back(), 6), 3u) << "the line is at home";
  for (const SimImage& image : images) {
    const DesignMachine m(o, image);
    EXPECT_EQ(m.get(6), 1u);
  }
}

TEST(Fwb, Rule04ARecordThatWaitsForAnotherIsSentWhenItsLineGoesHome) {
  DesignMachine m(on(patient(64)));
  m.run([&] {
    m->tx_start();
    m.set(0, 1);
    m->fence();
    EXPECT_EQ(written(m, Cause::log), 0u);
    m->pwb(m.word(0));
    m->psync();
    EXPECT_EQ(written(m, Cause::log), 1u);
    m->tx_commit();
  });
}

// ---- commits

TEST(Fwb, Rule05ACommitWaitsForTheLogOnly) {
  for (const size_t lines : {1u, 8u}) {
    DesignMachine m(on(patient(64)));
    m.run([&] {
      warm(m, lines);
      m->tx_start();
      for (size_t line = 0; line < lines; ++line) {
        m.set(line, 1);
      }
      m->fence();
      m->work(1000);
      m->tx_commit();
      m->fence();
    });
    EXPECT_EQ(m->design_counters().commit_waits, 5 * kNs) << lines;
    EXPECT_EQ(written(m, Cause::write_back), 0u);
  }
}

TEST(Fwb, Rule05ACommittedTransactionSurvivesInTheLog) {
  SimImage image;
  {
    DesignMachine m(on(roomy()));
    m.run([&] {
      m.transaction(0, 3, 1);
      m.transaction(1, 1, 2);
      m->fence();
    });
    image = m->earliest_image();
    EXPECT_EQ(DesignMachine::in_image(image, 0), 0u);
  }
  DesignMachine m(on(roomy()), image);
  EXPECT_EQ(m->design_recovery().transactions, 2u);
  EXPECT_EQ(m->design_recovery().lines_written, 3u);
  EXPECT_EQ(m->persist_events(), 3u + 1) << "three lines and the log's tail";
  EXPECT_EQ(m.get(0), 1u);
  EXPECT_EQ(m.get(1), 2u);
  EXPECT_EQ(m.get(2), 1u);
}

TEST(Fwb, Rule06ATransactionThatStoresNothingChangesNothing) {
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

// ---- scans

const Options kScans = {{"scan_cycles", "1000"}};

/// Lets about so many microseconds pass. Loads that miss let the machine see the time.
void pass(DesignMachine& m, size_t microseconds, size_t& line) {
  for (size_t i = 0; i < 7 * microseconds; ++i) {
    m->work(100);
    m.get(line++);
    m->fence();
  }
}

TEST(Fwb, Rule07TheSecondScanWritesALineBackThatTheFirstHasFoundDirty) {
  size_t line = 100;
  DesignMachine m(on(patient(64), kScans));
  m.run([&] {
    m.transaction(0, 4, 1);
    m->fence();
    pass(m, 1, line);
    EXPECT_EQ(m.count("scans"), 1u);
    EXPECT_EQ(m.count("forced"), 0u);
    m.transaction(4, 1, 1);
    m->fence();
    pass(m, 1, line);
    EXPECT_EQ(m.count("scans"), 2u);
    EXPECT_EQ(m.count("forced"), 4u);
    EXPECT_EQ(written(m, Cause::write_back), 4u);
    EXPECT_EQ(written(m, Cause::table), 1u) << "the tail";
    pass(m, 3, line);
    EXPECT_EQ(m.count("forced"), 5u);
  });
  const SimImage image = m->earliest_image();
  for (size_t stored = 0; stored < 5; ++stored) {
    EXPECT_EQ(DesignMachine::in_image(image, stored), 1u);
  }
}

TEST(Fwb, Rule07AnEmptyLogNeedsNoScan) {
  size_t line = 100;
  DesignMachine m(on(patient(64), kScans));
  m.run([&] {
    m.transaction(0, 1, 1);
    pass(m, 20, line);
    EXPECT_LE(m.count("scans"), 4u);
  });
}

TEST(Fwb, Rule08TheTailStaysBeforeAnOpenTransaction) {
  size_t line = 100;
  SimImage image;
  const SimOptions o = on(roomy(), kScans);
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 2, 1);
      m->tx_start();
      m.set(0, 2);
      pass(m, 10, line);
      EXPECT_GE(m.count("scans"), 2u);
      image = m->earliest_image();
      m->tx_commit();
    });
  }
  EXPECT_EQ(DesignMachine::in_image(image, 0), 2u) << "a scan has written the line back";
  DesignMachine m(o, image);
  EXPECT_EQ(m->design_recovery().discarded, 1u);
  EXPECT_EQ(m.get(0), 1u);
}

TEST(Fwb, Rule09ScansComeOftenEnoughForTheLog) {
  Options more = kNoScan;
  more["log"] = "8192";  // 127 slots
  DesignMachine m(on(roomy(), more));
  m.run([&] {
    for (uint64_t n = 1; n <= 200; ++n) {
      m.transaction(0, 7, n);
    }
    m->fence();
  });
  EXPECT_GE(m.count("lines"), 800u) << "more than five laps";
  EXPECT_GE(m.count("scans"), 12u) << "two in each lap";
}

TEST(Fwb, Rule10ATransactionMustFitIntoTheLog) {
  Options more = kNoScan;
  more["log"] = "8192";
  DesignMachine m(on(roomy(), more));
  const auto stores = [&](uint64_t n) {
    m->tx_start();
    for (uint64_t i = 0; i < n; ++i) {
      m.set(i % 16, i);
    }
    m->tx_commit();
    m->fence();
  };
  m.run([&] { stores(190); });
  EXPECT_THROW(m.run([&] { stores(260); }), Error);
}

// ---- aborts, and stores outside transactions

TEST(Fwb, Rule11AnAbortPutsTheOldBytesHome) {
  SimImage image;
  const SimOptions o = on(tiny());
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
      m.transaction(1, 1, 7);
      m->fence();
    });
    image = m->earliest_image();
  }
  DesignMachine m(o, image);
  EXPECT_EQ(m->design_recovery().discarded, 0u);
  for (size_t line = 0; line < 20; ++line) {
    EXPECT_EQ(m.get(line), line == 1 ? 7u : 1u) << line;
  }
}

TEST(Fwb, Rule12RecoveryDoesNotCoverALaterStoreOutsideTransactions) {
  SimImage image;
  const SimOptions o = on(roomy());
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 2, 1);
      m->fence();
      m.set(0, 9);
      m->pwb(m.word(0));
      m->psync();
      EXPECT_EQ(m.count("outside"), 1u);
      m.transaction(2, 1, 1);
      m->fence();
    });
    image = m->earliest_image();
  }
  DesignMachine m(o, image);
  EXPECT_EQ(m.get(0), 9u);
  EXPECT_EQ(m.get(1), 1u);
  EXPECT_EQ(m.get(2), 1u);
}

TEST(Fwb, Rule13TheLogIsEmptyWhenPagesAreUnmapped) {
  SimImage image;
  const SimOptions o = on(roomy());
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 5, 1);
      m->fence();
    });
    m.settle();
    image = m->earliest_image();
    EXPECT_EQ(DesignMachine::in_image(image, 4), 1u);
  }
  DesignMachine m(o, image);
  EXPECT_EQ(m->design_recovery().transactions, 0u);
  EXPECT_EQ(m->persist_events(), 0u);
}

TEST(Fwb, RefusesCachesThatSurvive) {
  SimOptions o = on(tiny());
  EXPECT_EQ(o.domain, Domain::pmem);
  o.domain = Domain::eadr;
  EXPECT_THROW(SimMachine{o}, Error);
  EXPECT_EQ(make_design("fwb", {{"printed", "all"}}).status().code(), Code::invalid_argument);
  EXPECT_EQ(make_design("fwb", {{"log", "64"}}).status().code(), Code::invalid_argument);
}

TEST(Fwb, WritesAddUpToTheControllersCount) {
  DesignMachine m(on(tiny(), {{"scan_cycles", "2000"}, {"log", "8192"}}));
  m.run([&] {
    for (uint64_t n = 1; n <= 20; ++n) {
      m.transaction(0, 12, n);
    }
    m->fence();
  });
  const DesignCounters counters = m->design_counters();
  const uint64_t sum =
      std::accumulate(std::begin(counters.by_cause), std::end(counters.by_cause), uint64_t{0});
  EXPECT_EQ(sum, m->medium_counters().writes);
  EXPECT_EQ(sum, written(m, Cause::log) + written(m, Cause::table) + written(m, Cause::write_back));
  EXPECT_EQ(written(m, Cause::log), m.count("lines"));
  EXPECT_EQ(m.count("records"), 20u * (12 + 1));
}

}  // namespace
}  // namespace holdfast::design_test::fwb_test
