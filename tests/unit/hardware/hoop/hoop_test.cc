// SPDX-License-Identifier: Apache-2.0
// Does HOOP take as long, and write and read as much, as its rules say? The numbers of the rules
// are those of docs/reference/hardware/hoop.md.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/hardware/design_rules.h"

namespace holdfast::design_test::hoop_test {
namespace {

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  return small_tables(options(machine, "hoop", more));
}

// Each slice takes two lines, the record one.
TEST(Hoop, Rule1EightWordsShareASlice) {
  for (const size_t words : {1u, 8u, 9u, 16u, 64u}) {
    DesignMachine m(on(with_queues(roomy())));
    m.run([&] {
      store_words(m, 0, words, 1);
      m->fence();
    });
    const size_t slices = (words + 7) / 8;
    EXPECT_EQ(m.count("slices"), slices) << words;
    EXPECT_EQ(written(m, Cause::log), 2 * slices + 1) << words;
    EXPECT_EQ(m->design_counters().writes, 2 * slices + 1) << words;
  }
}

TEST(Hoop, Rule1WordsOfManyLinesShareASlice) {
  DesignMachine m(on(with_queues(roomy())));
  m.run([&] {
    m.transaction(0, 8, 1);
    m->fence();
  });
  EXPECT_EQ(m.count("slices"), 1u);
}

TEST(Hoop, Rule1ATransactionWithoutStoresWritesNothing) {
  DesignMachine m(on(roomy()));
  m.run([&] {
    m->tx_start();
    m.get(0);
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m->design_counters().writes, 0u);
  EXPECT_EQ(m->design_counters().commit_waits, 0u);
}

TEST(Hoop, Rule2AStoreToAWordOfTheBufferReplacesIt) {
  DesignMachine m(on(with_queues(roomy())));
  m.run([&] {
    m->tx_start();
    for (uint64_t i = 0; i < 30; ++i) {
      m.set(i % 3, i);
    }
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m.count("words"), 3u);
  EXPECT_EQ(m.count("coalesced"), 27u);
  EXPECT_EQ(m.count("slices"), 1u);
  m.settle();
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 2), 29u);
}

// A word has gone to the log, so another store to it takes a place in a new slice.
TEST(Hoop, Rule2AStoreToAWordOfTheLogTakesANewPlace) {
  DesignMachine m(on(with_queues(roomy()), {{"buffer", "128"}}));
  m.run([&] {
    m->tx_start();
    for (size_t i = 0; i < 9; ++i) {
      m.set(i, 1);
    }
    m.set(0, 2);
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m.count("words"), 10u);
  EXPECT_EQ(m.count("slices"), 2u);
  m.settle();
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), 2u) << "the newer one counts";
  EXPECT_EQ(written(m, Cause::migration), 9u);
}

// The slices go at the same time. The record follows when they are accepted.
TEST(Hoop, Rule3ACommitWaitsForItsSlicesAndThenForItsRecord) {
  for (const bool together : {false, true}) {
    for (const size_t words : {1u, 8u, 64u}) {
      DesignMachine m(on(with_queues(roomy()), {{"printed", together ? "together" : "nothing"}}));
      m.run([&] {
        store_words(m, 0, 64, 1);  // brings the lines into L1
        m->fence();
        m->work(1000);
        const Time before = m->design_counters().commit_waits;
        store_words(m, 0, words, 2);
        m->fence();
        EXPECT_EQ(m->design_counters().commit_waits - before,
                  (together ? 1 : 2) * kToController * kNs)
            << words;
      });
    }
  }
}

// With two slices, the first goes when the second is begun. It takes 5 ns. A store takes 1.
TEST(Hoop, Rule4AFullBufferWritesItsOldestSlice) {
  uint64_t waits[3] = {};
  for (const size_t slices : {1u, 2u, 64u}) {
    DesignMachine m(on(with_queues(roomy()), {{"buffer", std::to_string(128 * slices)}}));
    m.run([&] {
      store_words(m, 0, 32, 1);
      m->fence();
      m->work(1000);
      const Time before = m->design_counters().store_waits;
      store_words(m, 0, 32, 2);
      m->fence();
      waits[slices == 64 ? 2 : slices - 1] = m->design_counters().store_waits - before;
    });
    EXPECT_EQ(m.count("slices"), 8u);
  }
  EXPECT_EQ(waits[0], 3 * kToController * kNs) << "three of four slices wait for the one before";
  EXPECT_EQ(waits[1], 0u);
  EXPECT_EQ(waits[2], 0u);
}

/// Reads and time of a miss of line 0 after `store` and evictions, beside those of line 300.
struct Miss {
  uint64_t reads;
  uint64_t ns;
  uint64_t other_ns;
};
Miss miss_after(DesignMachine& m, const std::function<void()>& store) {
  Miss miss{};
  m.run([&] {
    store();
    m->fence();
    push_out(m);
    m->work(1000);
    miss.other_ns = m.load_ns(300);
    m->work(1000);
    const uint64_t before = m->statistics().medium_reads;
    miss.ns = m.load_ns(0);
    miss.reads = m->statistics().medium_reads - before;
  });
  return miss;
}

TEST(Hoop, Rule5AMissOfALineThatTheTableDoesNotHaveCostsNoMore) {
  uint64_t without = 0;
  {
    DesignMachine m(options(with_queues(tiny()), volatile_design()));
    m.run([&] { without = m.load_ns(50); });
  }
  DesignMachine m(on(with_queues(tiny())));
  m.run([&] {
    m.transaction(0, 1, 1);
    m->fence();
    m->work(1000);
    EXPECT_EQ(m.load_ns(50), without);
  });
}

TEST(Hoop, Rule5ALineThatTheLogHasInPartIsReadFromBothAndMerged) {
  DesignMachine m(on(with_queues(tiny())));
  const Miss miss = miss_after(m, [&] { m.transaction(0, 1, 1); });
  EXPECT_EQ(miss.reads, 2u);
  EXPECT_EQ(miss.ns, miss.other_ns + 10) << "the search of the table, then the slice";
  EXPECT_EQ(m.count("merged"), 1u);
  EXPECT_EQ(m->design_counters().fills, 1u);
}

TEST(Hoop, Rule5ALineThatTheLogHasAsAWholeIsReadFromThereOnly) {
  DesignMachine m(on(with_queues(tiny())));
  EXPECT_EQ(miss_after(m, [&] { store_words(m, 0, 8, 1); }).reads, 1u);
}

TEST(Hoop, Rule5EachSliceWithWordsOfTheLineIsRead) {
  DesignMachine m(on(with_queues(tiny())));
  const Miss miss = miss_after(m, [&] {
    for (size_t i = 0; i < 3; ++i) {
      m->tx_start();
      m.set(0, 7, i);
      m->tx_commit();
    }
  });
  EXPECT_EQ(miss.reads, 4u);
}

TEST(Hoop, Rule5WordsOfTheBufferAreMergedWithoutARead) {
  DesignMachine m(on(with_queues(tiny())));
  const Miss miss = miss_after(m, [&] {
    m->tx_start();
    m.set(0, 7);
  });
  EXPECT_EQ(miss.reads, 1u);
  EXPECT_EQ(m->design_counters().writes, 0u);
}

TEST(Hoop, Rule6LinesOfTransactionsAreDroppedFromTheLastLevel) {
  DesignMachine m(on(tiny(), {{"collect_us", "1000000"}}));
  m.run([&] {
    m.transaction(0, 30, 1);
    m->fence();
    push_out(m);
    EXPECT_GE(m->design_counters().dropped, 30u);
    EXPECT_EQ(m->design_counters().written_back, 0u);
    for (size_t line = 0; line < 30; ++line) {
      EXPECT_EQ(m.get(line), 1u);
    }
  });
}

// Ten transactions store to the same two lines, one of them whole.
TEST(Hoop, Rule7ACollectionWritesEachLineOnce) {
  DesignMachine m(on(roomy(), {{"collect_us", "1000000"}}));
  m.run([&] {
    for (uint64_t i = 1; i <= 10; ++i) {
      store_words(m, 0, 8, i);
      m.transaction(20, 1, i);
    }
    m->fence();
  });
  EXPECT_EQ(m.count("slices"), 20u);
  const uint64_t reads = m->design_counters().reads;
  m.settle();
  EXPECT_EQ(m.count("collections"), 1u);
  EXPECT_EQ(written(m, Cause::migration), 2u);
  EXPECT_EQ(written(m, Cause::table), 1u) << "the log's tail";
  // Twenty slices and twenty records of two lines, and the place of the line in part.
  EXPECT_EQ(m->design_counters().reads - reads, 2 * (20 + 20) + 1u);
  const SimImage image = m->earliest_image();
  EXPECT_EQ(DesignMachine::in_image(image, 0, 7), 17u);
  EXPECT_EQ(DesignMachine::in_image(image, 20), 10u);
  EXPECT_EQ(DesignMachine::in_image(image, 20, 1), 0u);
}

TEST(Hoop, Rule7ACollectionBeginsSomeTimeAfterTheLast) {
  DesignMachine m(on(roomy(), {{"collect_us", "10"}}));
  m.run([&] {
    m.transaction(0, 1, 1);
    m->fence();
    m->work(9000);
    m.get(1);
    m->fence();
    EXPECT_EQ(m.count("collections"), 0u);
    m->work(2000);
    m.get(2);
    m->work(1000);
    m.get(3);
    m->fence();
    EXPECT_EQ(m.count("collections"), 1u);
    m->work(20'000);
    m.get(4);
    m->fence();
    EXPECT_EQ(m.count("collections"), 1u) << "nothing is left in the log";
  });
}

TEST(Hoop, Rule7StoresWaitForACollectionThatBlocks) {
  for (const bool blocks : {false, true}) {
    DesignMachine m(on(roomy(), {{"collect_us", "10"}, {"collect_blocks", blocks ? "1" : "0"}}));
    m.run([&] {
      m.transaction(0, 40, 1);
      m->fence();
      m->work(11'000);
      m.get(50);  // the collection begins
      m->tx_start();
      m.set(51, 1);
      m->fence();
      EXPECT_EQ(m->design_counters().store_waits > 0, blocks);
      EXPECT_EQ(m.count("collections"), blocks ? 1u : 0u) << "that have ended";
      m->tx_commit();
    });
  }
}

TEST(Hoop, Rule7AfterACollectionAMissReadsHomeOnly) {
  DesignMachine m(on(with_queues(tiny()), {{"collect_us", "1"}}));
  const Miss miss = miss_after(m, [&] { m.transaction(0, 1, 1); });
  EXPECT_EQ(m.count("collections"), 1u);
  EXPECT_EQ(miss.reads, 1u);
  EXPECT_EQ(miss.ns, miss.other_ns);
}

// Four entries: each line of a slice takes one.
TEST(Hoop, Rule8AFullTableStartsACollectionForWhichACommitWaits) {
  DesignMachine m(on(with_queues(roomy()), {{"table", "64"}}));
  m.run([&] {
    m.transaction(0, 4, 1);
    m->fence();
    m->work(1000);
    EXPECT_EQ(m.count("collections"), 0u);
    const Time before = m->design_counters().commit_waits;
    m.transaction(10, 1, 2);
    m->fence();
    EXPECT_EQ(m.count("collections"), 1u);
    EXPECT_EQ(written(m, Cause::migration), 4u);
    EXPECT_GT(m->design_counters().commit_waits - before, 100 * kNs);
  });
  EXPECT_EQ(m.count("overflowed"), 0u);
}

TEST(Hoop, Rule8SupersededSlicesGiveTheirEntriesBack) {
  DesignMachine m(on(roomy(), {{"table", "64"}}));
  m.run([&] {
    for (uint64_t i = 1; i <= 50; ++i) {
      m.transaction(0, 2, i);
    }
    m->fence();
  });
  EXPECT_EQ(m.count("collections"), 0u);
}

// The log has 31 slots. A transaction of one slice takes two.
TEST(Hoop, Rule9AFullLogStartsACollectionAndWrapsAround) {
  const SimOptions o = on(roomy(), {{"region", "4096"}});
  SimImage image;
  {
    DesignMachine m(o);
    m.run([&] {
      for (uint64_t i = 1; i <= 13; ++i) {
        m.transaction(0, 2, i);
      }
      m->fence();
      EXPECT_EQ(m.count("collections"), 0u);
      for (uint64_t i = 14; i <= 100; ++i) {
        m.transaction(i % 5, 2, i);
      }
      m->fence();
    });
    EXPECT_GE(m.count("collections"), 6u);
    EXPECT_EQ(m.count("slices") + m.count("records"), 200u) << "six laps of the log";
    image = m->earliest_image();
  }
  const DesignMachine after(o, image);
  EXPECT_EQ(after.get(0), 100u);
  EXPECT_EQ(after.get(1), 100u);
  EXPECT_EQ(after.get(2), 97u);
}

TEST(Hoop, Rule10SlicesOfAnOpenTransactionStay) {
  DesignMachine m(on(with_queues(roomy()), {{"buffer", "128"}, {"table", "256"}}));
  m.run([&] {
    m.transaction(0, 8, 1);
    m->tx_start();
    for (size_t line = 10; line < 19; ++line) {
      m.set(line, 2);  // the ninth needs another slice, so the first is written
    }
    m->fence();
    EXPECT_EQ(m.count("slices"), 2u);
    for (size_t line = 20; line < 27; ++line) {
      m.set(line, 2);
    }
    m.set(30, 2);  // there is no room in the table, and the open transaction's words stay
    m->fence();
    EXPECT_EQ(m.count("collections"), 1u);
    EXPECT_EQ(written(m, Cause::migration), 8u);
    m->tx_commit();
    m->fence();
  });
  m.settle();
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 10), 2u);
  EXPECT_EQ(written(m, Cause::migration), 8 + 17u);
}

TEST(Hoop, Rule11ATransactionLargerThanTheTableUsesVolatileMemory) {
  DesignMachine m(on(tiny(), {{"table", "256"}, {"buffer", "128"}}));
  m.run([&] {
    m.transaction(0, 60, 1);
    m->fence();
    EXPECT_EQ(m.count("overflowed"), 60 - 16u);
    const uint64_t dram = m->statistics().dram_reads;
    m.load_ns(300);
    EXPECT_EQ(m->statistics().dram_reads, dram + 1) << "a miss looks there first";
    for (size_t line = 0; line < 60; ++line) {
      EXPECT_EQ(m.get(line), 1u);
    }
  });
  m.settle();
  EXPECT_EQ(written(m, Cause::migration), 60u);
}

TEST(Hoop, Rule11WithoutOverflowSuchATransactionIsAborted) {
  DesignMachine m(on(tiny(), {{"table", "256"}, {"buffer", "128"}, {"overflow", "0"}}));
  m.run([&] {
    m.transaction(0, 16, 1);
    EXPECT_THROW(m.transaction(0, 30, 2), HtmAbort);
    EXPECT_EQ(m->tx_caught(), AbortCause::capacity);
    for (size_t line = 0; line < 30; ++line) {
      EXPECT_EQ(m.get(line), line < 16 ? 1u : 0u);
    }
    m.transaction(0, 16, 3);
    m->fence();
  });
  EXPECT_EQ(m->design_counters().doomed, 1u);
  m.settle();
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 15), 3u);
}

TEST(Hoop, Rule11ATransactionLargerThanTheLogIsAnError) {
  DesignMachine m(on(roomy(), {{"region", "4096"}, {"buffer", "128"}}));
  EXPECT_THROW(m.run([&] { m.transaction(0, 400, 1); }), Error);
}

// The committed words lie in the log, or at home after a collection.
TEST(Hoop, Rule12AnAbortBringsBackWhatHomeAndLogHave) {
  for (const char* collect_us : {"1", "1000000"}) {
    DesignMachine m(on(tiny(), {{"collect_us", collect_us}, {"buffer", "256"}}));
    m.run([&] {
      m.transaction(0, 4, 1);
      m->fence();
      m->work(3000);
      m->tx_start();
      for (size_t line = 0; line < 40; ++line) {
        m.set(line, 2, line % 2);
      }
      m->tx_abort();
      for (size_t line = 0; line < 40; ++line) {
        EXPECT_EQ(m.get(line), line < 4 ? 1u : 0u) << line;
        EXPECT_EQ(m.get(line, 1), 0u) << line;
      }
      m.transaction(39, 1, 3);
      m->fence();
    });
    m.settle();
    const SimImage image = m->earliest_image();
    EXPECT_EQ(DesignMachine::in_image(image, 3), 1u);
    EXPECT_EQ(DesignMachine::in_image(image, 38), 0u);
    EXPECT_EQ(DesignMachine::in_image(image, 39), 3u);
  }
}

TEST(Hoop, Rule13AStoreOutsideTransactionsIsWrittenBackAsEver) {
  DesignMachine m(on(tiny()));
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
  EXPECT_EQ(m->design_counters().writes, 0u);
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 1), 8u);
}

// A flagged line is dropped later, so its other content leaves before.
TEST(Hoop, Rule13ATransactionsFirstStoreWritesOtherContentBack) {
  DesignMachine m(on(tiny()));
  m.run([&] {
    m.set(0, 7, 3);
    m.transaction(0, 1, 1);
    m->fence();
    EXPECT_EQ(m->design_counters().written_back, 1u);
    push_out(m);
    EXPECT_EQ(m.get(0, 3), 7u);
    EXPECT_EQ(m.get(0), 1u);
  });
}

TEST(Hoop, Rule13ALineOfTheLogThatIsStoredToOutsideIsLogged) {
  SimImage image;
  const SimOptions o = on(tiny(), {{"collect_us", "1000000"}});
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 1, 1);
      m.set(0, 2);
      m.set(0, 9, 4);
      m->pwb(m.word(0));
      m->psync();
      EXPECT_EQ(m.count("outside"), 1u);
      EXPECT_EQ(written(m, Cause::log), 3 + 3u) << "one slice and a record each";
      EXPECT_EQ(m->design_counters().written_back, 0u);
      push_out(m);
      EXPECT_EQ(m.get(0), 2u);
    });
    image = m->earliest_image();
  }
  const DesignMachine after(o, image);
  EXPECT_EQ(after.get(0), 2u) << "the log's older word does not come over it";
  EXPECT_EQ(after.get(0, 4), 9u);
}

// The flag, by the letter of the text, says that the line may be dropped.
TEST(Hoop, Rule13AFlagThatSticksLosesTheStore) {
  DesignMachine m(on(tiny(), {{"printed", "bit"}}));
  const auto run = [&] {
    m.run([&] {
      m.transaction(0, 1, 1);
      m.set(0, 9, 4);
      m->fence();
      push_out(m);
      m.get(0, 4);
    });
  };
  EXPECT_THROW(run(), Error);
  EXPECT_EQ(m->failure().code(), Code::corrupt);
}

TEST(Hoop, Rule14RecoveryCanBeInterruptedAndRepeated) {
  const SimOptions o = on(with_queues(roomy()), {{"buffer", "128"}});
  SimImage image;
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 8, 1);
      m.transaction(4, 8, 2);
      m->tx_start();
      for (size_t line = 0; line < 9; ++line) {
        m.set(line, 3);
      }
      m->fence();
    });
    image = m->earliest_image();
  }
  const auto expect_whole = [&](const SimImage& recovered) {
    for (size_t line = 0; line < 12; ++line) {
      EXPECT_EQ(DesignMachine::in_image(recovered, line), line < 4 ? 1u : 2u) << line;
    }
  };
  {
    SimMachine whole(o, image);
    whole.power_on();
    EXPECT_EQ(whole.design_recovery().transactions, 2u);
    EXPECT_EQ(whole.design_recovery().discarded, 1u);
    EXPECT_EQ(whole.design_recovery().lines_written, 12u);
    EXPECT_GT(whole.design_recovery().duration, 0u);
  }
  EXPECT_EQ(interrupt_recovery(o, image, expect_whole), 12 + 1u) << "lines, and the log's tail";
}

TEST(Hoop, Rule15CausesAddUpToTheController) {
  DesignMachine m(on(tiny(), {{"buffer", "256"}, {"table", "256"}, {"collect_us", "5"}}));
  m->run_threads(2, [&](int worker) {
    const size_t base = 40 * static_cast<size_t>(worker);
    for (uint64_t i = 1; i < 20; ++i) {
      m.transaction(base, 12, i);
      m.get(base + i);
      m.set(base + 30, i);
    }
    m->tx_start();
    m.set(base + 1, 99);
    m->tx_abort();
  });
  m.settle();
  const DesignCounters counters = m->design_counters();
  EXPECT_EQ(std::accumulate(counters.by_cause.begin(), counters.by_cause.end(), uint64_t{0}),
            m->medium_counters().writes);
  EXPECT_EQ(written(m, Cause::log), 2 * m.count("slices") + m.count("records"));
  EXPECT_EQ(written(m, Cause::migration), m.count("migrated"));
  EXPECT_EQ(written(m, Cause::table), m.count("collections"));
  EXPECT_EQ(written(m, Cause::write_back), counters.written_back);
  EXPECT_GT(m.count("collections"), 2u);
}

TEST(Hoop, IsMadeForCachesThatDoNotSurvive) {
  EXPECT_EQ(on(tiny()).domain, Domain::pmem);
  SimOptions o = on(tiny());
  o.domain = Domain::eadr;
  EXPECT_THROW(SimMachine{o}, Error);
}

TEST(Hoop, NothingInTheControllerSurvives) {
  const SimMachine m(on(tiny()));
  EXPECT_EQ(m.design_structure_bytes(), 0u);
}

TEST(Hoop, RefusesOptionsThatMakeNoSense) {
  EXPECT_NE(make_design("hoop", {{"size", "1"}}).status().message().find("buffer"),
            std::string::npos);
  EXPECT_EQ(make_design("hoop", {{"table", "x"}}).status().code(), Code::invalid_argument);
  EXPECT_NE(make_design("hoop", {{"printed", "all"}}).status().message().find("together"),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::design_test::hoop_test
