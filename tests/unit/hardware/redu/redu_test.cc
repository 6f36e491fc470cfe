// SPDX-License-Identifier: Apache-2.0
// Does REDU take as long, and write and read as much, as its rules say? The numbers of the rules
// are those of docs/reference/hardware/redu.md.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/hardware/design_rules.h"

namespace holdfast::design_test::redu_test {
namespace {

/// tiny.toml: a read of DRAM with its path, or of the medium.
constexpr uint64_t kDramRead = 10 + 50 + 2;

/// Entries of words, unless a test has others: most rules count slices of eight stores.
SimOptions on(const MachineDescription& machine, Options more = {}) {
  more.emplace("entries", "words");
  return small_tables(options(machine, "redu", more));
}

const Options kLines = {{"entries", "lines"}};

/// Queues that never fill, of the DRAM as well.
MachineDescription wide(MachineDescription machine) {
  machine = with_queues(machine);
  machine.dram.write_queue = machine.dram.read_queue = 64;
  machine.dram.banks = 16;
  machine.dram.drain_low = 0;
  return machine;
}

// Each slice takes two lines, the record one.
TEST(Redu, Rule1EightWordsShareASlice) {
  for (const size_t words : {1u, 8u, 9u, 64u}) {
    DesignMachine m(on(wide(roomy())));
    m.run([&] {
      store_words(m, 0, words, 1);
      m->fence();
    });
    const size_t slices = (words + 7) / 8;
    EXPECT_EQ(m.count("slices"), slices) << words;
    EXPECT_EQ(written(m, Cause::log), 2 * slices + 1) << words;
  }
}

// A slice of lines takes a line for its header, and one for each of its lines.
TEST(Redu, Rule1EightLinesShareASlice) {
  for (const size_t lines : {1u, 8u, 9u, 30u}) {
    DesignMachine m(on(wide(roomy()), kLines));
    m.run([&] {
      m.transaction(0, lines, 1);
      m->fence();
    });
    const size_t slices = (lines + 7) / 8;
    EXPECT_EQ(m.count("slices"), slices) << lines;
    EXPECT_EQ(m.count("words"), 8 * lines);
    EXPECT_EQ(written(m, Cause::log), slices + lines + 1) << lines;
  }
}

TEST(Redu, Rule1ALineOfManyStoresTakesOneEntry) {
  SimImage image;
  const SimOptions o = on(wide(roomy()), kLines);
  {
    DesignMachine m(o);
    m.run([&] {
      m.set(0, 5, 7);
      store_words(m, 0, 6, 1);
      m->fence();
    });
    EXPECT_EQ(m.count("coalesced"), 5u);
    EXPECT_EQ(written(m, Cause::log), 3u);
    image = m->earliest_image();
  }
  const DesignMachine after(o, image);
  EXPECT_EQ(after.get(0, 5), 6u);
  EXPECT_EQ(after.get(0, 7), 5u) << "the entry has the words that the transaction left alone";
}

TEST(Redu, Rule1ATransactionWithoutStoresWritesNothing) {
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

TEST(Redu, Rule2AStoreToAWordOfTheBufferReplacesIt) {
  DesignMachine m(on(wide(roomy())));
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
}

// The slices go at the same time. The record follows when they are accepted.
TEST(Redu, Rule3ACommitWaitsForItsSlicesAndThenForItsRecord) {
  for (const bool together : {false, true}) {
    for (const size_t words : {1u, 8u, 64u}) {
      DesignMachine m(on(wide(roomy()), {{"printed", together ? "together" : "nothing"}}));
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
TEST(Redu, Rule4AFullBufferWritesItsOldestSlice) {
  const auto waits = [](size_t slices) {
    uint64_t waited = 0;
    DesignMachine m(on(wide(roomy()), {{"buffer", std::to_string(128 * slices)}}));
    m.run([&] {
      store_words(m, 0, 32, 1);
      m->fence();
      m->work(1000);
      const Time before = m->design_counters().store_waits;
      store_words(m, 0, 32, 2);
      m->fence();
      waited = m->design_counters().store_waits - before;
    });
    EXPECT_EQ(m.count("slices"), 8u);
    return waited;
  };
  EXPECT_EQ(waits(1), 3 * kToController * kNs) << "three of four slices wait for the one before";
  EXPECT_EQ(waits(2), 0u);
  EXPECT_EQ(waits(64), 0u);
}

// A buffer of lines has two slices at least.
TEST(Redu, Rule4AFullBufferOfLinesWritesItsOldestSlice) {
  DesignMachine m(on(wide(roomy()), {{"entries", "lines"}, {"buffer", "128"}}));
  m.run([&] {
    m->tx_start();
    for (size_t line = 0; line < 24; ++line) {
      m.set(line, 1);
      m->fence();
      EXPECT_EQ(m.count("slices"), line / 8) << "one goes when the next one is begun";
    }
    m.set(0, 2, 1);
    m->fence();
    EXPECT_EQ(m.count("slices"), 3u);
    EXPECT_EQ(m.count("words"), 8 * 25u) << "a line that has gone gets a new place";
    m->tx_commit();
  });
}

TEST(Redu, Rule5UncommittedLinesGoToTheDramCacheAndNotHome) {
  DesignMachine m(on(tiny()));
  m.run([&] {
    m->tx_start();
    for (size_t line = 0; line < 40; ++line) {
      m.set(line, 1);
    }
    m->fence();
    push_out(m);
    EXPECT_EQ(m.count("held"), 40u);
    EXPECT_EQ(m->design_counters().dropped, 40u);
    EXPECT_EQ(m->design_counters().written_back, 0u);
    EXPECT_EQ(written(m, Cause::data), 0u);
    for (size_t line = 0; line < 40; ++line) {
      EXPECT_EQ(m.get(line), 1u);
    }
    EXPECT_EQ(m.count("found"), 40u);
  });
}

// EHOU: each read of persistent memory pays the latency of the DRAM cache.
TEST(Redu, Rule6AMissAsksTheDramCacheFirst) {
  uint64_t without = 0;
  {
    DesignMachine m(options(wide(tiny()), volatile_design()));
    m.run([&] { without = m.load_ns(50); });
  }
  const auto miss = [](const Options& more) {
    uint64_t ns = 0;
    DesignMachine m(on(wide(tiny()), more));
    m.run([&] { ns = m.load_ns(50); });
    EXPECT_EQ(m->statistics().dram_reads, more.contains("predict") ? 0u : 1u);
    return ns;
  };
  EXPECT_EQ(miss({}), without + kDramRead);
  EXPECT_EQ(miss({{"predict", "1"}}), without);
}

TEST(Redu, Rule6ALineOfTheDramCacheIsReadFromThereOnly) {
  for (const char* predict : {"0", "1"}) {
    DesignMachine m(on(wide(tiny()), {{"predict", predict}}));
    m.run([&] {
      m->tx_start();
      m.set(0, 7);
      m->fence();
      push_out(m);
      m->work(1000);
      const uint64_t reads = m->statistics().medium_reads;
      const uint64_t ns = m.load_ns(0);
      EXPECT_EQ(m->statistics().medium_reads, reads);
      m->work(1000);
      const uint64_t other = m.load_ns(300);
      EXPECT_EQ(ns + (*predict == '0' ? kDramRead : 0), other) << "as long as a read of the medium";
    });
  }
}

// A machine without DRAM: as EHOU's. An access to the cache takes 100 cycles.
TEST(Redu, Rule6WithoutDramTheCacheHasAControllerOfItsOwn) {
  MachineDescription machine = wide(tiny());
  machine.one_memory = true;
  machine.dram = machine.medium;
  uint64_t ns[2] = {};
  for (const size_t i : {0u, 1u}) {
    DesignMachine m(on(machine, {{"predict", i == 0 ? "1" : "0"}}));
    m.run([&] { ns[i] = m.load_ns(50); });
    EXPECT_EQ(m->statistics().dram_reads, 0u);
    EXPECT_EQ(m->medium_counters().reads, 1u);
  }
  EXPECT_EQ(ns[1] - ns[0], 100u);
}

TEST(Redu, Rule7ACommitSendsItsLinesToTheDramCache) {
  DesignMachine m(on(wide(roomy()), {{"flush", "lazy"}}));
  m.run([&] {
    m.transaction(0, 5, 1);
    m->fence();
    EXPECT_EQ(m.count("held"), 5u);
    EXPECT_EQ(m->statistics().dram_writes, 5u);
    const uint64_t missed = m->statistics().medium_reads;
    m.get(0);
    EXPECT_EQ(m->statistics().medium_reads, missed) << "the caches keep them, clean";
  });
  EXPECT_EQ(written(m, Cause::data), 0u);
  EXPECT_EQ(m->design_counters().written_back, 0u);
  m.settle();
  EXPECT_EQ(m->design_counters().written_back, 0u);
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 4), 1u);
}

TEST(Redu, Rule8CommittedLinesGoHomeOnceAndAtOnce) {
  DesignMachine m(on(wide(roomy())));
  m.run([&] {
    for (uint64_t i = 1; i <= 3; ++i) {
      m.transaction(0, 5, i);
      m->fence();
      m->work(2000);
    }
  });
  EXPECT_EQ(written(m, Cause::data), 15u);
  EXPECT_EQ(m.count("home"), 15u);
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 4), 3u) << "without a recovery";
  const uint64_t reads = m->design_counters().reads;
  m.settle();
  EXPECT_EQ(m->design_counters().reads, reads) << "nothing is read from the log";
}

TEST(Redu, Rule8SomeLinesAreOnTheirWayHomeAtATime) {
  for (const size_t lines : {1u, 3u}) {
    DesignMachine m(on(wide(roomy()), {{"flush_lines", std::to_string(lines)}}));
    m.run([&] {
      m.transaction(0, 9, 1);
      m->fence();
      EXPECT_EQ(m.count("home"), lines) << "the others wait for these";
    });
    m.settle();
    EXPECT_EQ(m.count("home"), 9u);
  }
}

// Ten transactions store to the same two lines.
TEST(Redu, Rule9LazyLinesGoHomeOnceForManyTransactions) {
  DesignMachine m(on(wide(roomy()), {{"flush", "lazy"}}));
  m.run([&] {
    for (uint64_t i = 1; i <= 10; ++i) {
      m.transaction(0, 2, i);
    }
    m->fence();
  });
  EXPECT_EQ(written(m, Cause::data), 0u);
  m.settle();
  EXPECT_EQ(written(m, Cause::data), 2u);
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 1), 10u);
}

// Line 0 is in the DRAM cache with committed content, when it comes again with uncommitted content.
TEST(Redu, Rule10ACommittedVersionGoesHomeBeforeAnUncommittedOneComes) {
  DesignMachine m(on(wide(tiny()), {{"flush", "lazy"}}));
  m.run([&] {
    m.transaction(0, 1, 1);
    m->fence();
    m->tx_start();
    m.set(0, 2);
    m->fence();
    push_out(m);
    EXPECT_EQ(m.count("held"), 2u);
    EXPECT_EQ(written(m, Cause::data), 1u);
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), 1u);
    m->tx_abort();
    EXPECT_EQ(m.get(0), 1u);
  });
}

TEST(Redu, Rule10OneVersionThatIsOverwrittenIsLost) {
  DesignMachine m(on(wide(tiny()), {{"flush", "lazy"}, {"printed", "overwrite"}}));
  m.run([&] {
    m.transaction(0, 1, 1);
    m->fence();
    m->tx_start();
    m.set(0, 2);
    m->fence();
    push_out(m);
    m->tx_abort();
    EXPECT_EQ(m.get(0), 0u);
  });
}

// One set of two lines.
const Options kTwoLines = {{"dram", "128"}, {"ways", "2"}, {"flush", "lazy"}};

TEST(Redu, Rule11AFullSetSendsACommittedLineHome) {
  DesignMachine m(on(wide(roomy()), kTwoLines));
  m.run([&] {
    m.transaction(0, 2, 1);
    m->fence();
    EXPECT_EQ(m.count("home"), 0u);
    m.transaction(2, 1, 2);
    m->fence();
    EXPECT_EQ(m.count("home"), 1u);
    EXPECT_EQ(m.count("overflowed"), 0u);
  });
}

TEST(Redu, Rule11ASetFullOfUncommittedLinesOverflows) {
  DesignMachine m(on(wide(tiny()), kTwoLines));
  m.run([&] {
    m->tx_start();
    for (size_t line = 0; line < 10; ++line) {
      m.set(line, 1);
    }
    m->fence();
    push_out(m);
    EXPECT_EQ(m.count("overflowed"), 8u);
    const uint64_t reads = m->statistics().dram_reads;
    m.load_ns(300);
    EXPECT_EQ(m->statistics().dram_reads, reads + 2) << "a miss looks beyond the set, too";
    m->tx_commit();
    m->fence();
    for (size_t line = 0; line < 10; ++line) {
      EXPECT_EQ(m.get(line), 1u);
    }
  });
  m.settle();
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 9), 1u);
  m.run([&] {
    const uint64_t reads = m->statistics().dram_reads;
    m.load_ns(301);
    EXPECT_EQ(m->statistics().dram_reads, reads + 1) << "nothing is beyond the set any more";
  });
}

TEST(Redu, Rule11WithoutOverflowSuchATransactionIsAborted) {
  Options more = kTwoLines;
  more["overflow"] = "0";
  DesignMachine m(on(tiny(), more));
  m.run([&] {
    m.transaction(0, 4, 1);
    EXPECT_THROW(m.transaction(0, 40, 2), HtmAbort);
    EXPECT_EQ(m->tx_caught(), AbortCause::capacity);
    for (size_t line = 0; line < 40; ++line) {
      EXPECT_EQ(m.get(line), line < 4 ? 1u : 0u) << line;
    }
    m.transaction(0, 4, 3);
    m->fence();
  });
  EXPECT_EQ(m->design_counters().doomed, 1u);
  m.settle();
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 3), 3u);
}

// The log has 31 slots. A transaction of one slice takes two. The tail moves by a quarter.
TEST(Redu, Rule12TheTailMovesWhenAQuarterOfTheLogIsHome) {
  DesignMachine m(on(wide(roomy()), {{"region", "4096"}}));
  m.run([&] {
    for (uint64_t i = 1; i <= 100; ++i) {
      m.transaction(i % 5, 2, i);
      m->fence();
      m->work(2000);
    }
  });
  EXPECT_EQ(m->design_counters().store_waits, 0u);
  EXPECT_EQ(m.count("tails"), 25u) << "eight slots each: 200 slots, six laps of the log";
  EXPECT_EQ(written(m, Cause::table), 25u);
}

TEST(Redu, Rule12AFullLogSendsLazyLinesHome) {
  const SimOptions o = on(wide(roomy()), {{"region", "4096"}, {"flush", "lazy"}});
  SimImage image;
  {
    DesignMachine m(o);
    m.run([&] {
      for (uint64_t i = 1; i <= 7; ++i) {
        m.transaction(0, 2, i);
      }
      m->fence();
      EXPECT_EQ(m.count("home"), 0u);
      for (uint64_t i = 8; i <= 100; ++i) {
        m.transaction(i % 5, 2, i);
      }
      m->fence();
    });
    EXPECT_LT(m.count("home"), 150u) << "lines of several transactions went home once";
    image = m->earliest_image();
  }
  const DesignMachine after(o, image);
  EXPECT_EQ(after.get(0), 100u);
  EXPECT_EQ(after.get(1), 100u);
  EXPECT_EQ(after.get(2), 97u);
}

TEST(Redu, Rule12ATransactionLargerThanTheLogIsAnErrorOrAborted) {
  const Options small = {{"region", "4096"}, {"buffer", "128"}};
  {
    DesignMachine m(on(roomy(), small));
    EXPECT_THROW(m.run([&] { m.transaction(0, 400, 1); }), Error);
  }
  Options aborts = small;
  aborts["overflow"] = "0";
  DesignMachine m(on(roomy(), aborts));
  m.run([&] {
    EXPECT_THROW(m.transaction(0, 400, 1), HtmAbort);
    EXPECT_EQ(m->tx_caught(), AbortCause::capacity);
    EXPECT_EQ(m.get(0), 0u);
    m.transaction(0, 4, 3);
  });
}

TEST(Redu, Rule13AnAbortBringsBackWhatHomeAndDramCacheHave) {
  for (const char* flush : {"eager", "lazy"}) {
    DesignMachine m(on(tiny(), {{"flush", flush}, {"buffer", "256"}}));
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

TEST(Redu, Rule14AStoreOutsideTransactionsIsWrittenBackAsEver) {
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

TEST(Redu, Rule14ATransactionsFirstStoreWritesOtherContentBack) {
  DesignMachine m(on(tiny()));
  m.run([&] {
    m.set(0, 7, 3);
    m->tx_start();
    m.set(0, 1);
    m->tx_abort();
    EXPECT_EQ(m.get(0, 3), 7u);
    EXPECT_EQ(m.get(0), 0u);
  });
  EXPECT_EQ(m->design_counters().written_back, 1u);
}

// Line 0 has words in the log: of the DRAM cache, or at home while the tail has not moved.
TEST(Redu, Rule14ALineOfTheLogThatIsStoredToOutsideIsLogged) {
  for (const char* flush : {"eager", "lazy"}) {
    SimImage image;
    const SimOptions o = on(tiny(), {{"flush", flush}});
    {
      DesignMachine m(o);
      m.run([&] {
        m.transaction(0, 1, 1);
        m->fence();
        m->work(1000);
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
}

TEST(Redu, Rule15RecoveryCanBeInterruptedAndRepeated) {
  const SimOptions o = on(wide(roomy()), {{"buffer", "128"}, {"flush", "lazy"}});
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
  {
    SimMachine whole(o, image);
    whole.power_on();
    EXPECT_EQ(whole.design_recovery().transactions, 2u);
    EXPECT_EQ(whole.design_recovery().discarded, 1u);
    EXPECT_EQ(whole.design_recovery().lines_written, 12u);
    EXPECT_GT(whole.design_recovery().duration, 0u);
  }
  const uint64_t events = interrupt_recovery(o, image, [](const SimImage& recovered) {
    for (size_t line = 0; line < 12; ++line) {
      EXPECT_EQ(DesignMachine::in_image(recovered, line), line < 4 ? 1u : 2u) << line;
    }
  });
  EXPECT_EQ(events, 12 + 1u) << "lines, and the log's tail";
}

TEST(Redu, Rule16CausesAddUpToTheController) {
  DesignMachine m(on(tiny(), {{"buffer", "256"}, {"region", "8192"}, {"dram", "1024"}}));
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
  EXPECT_EQ(written(m, Cause::data), m.count("home"));
  EXPECT_EQ(written(m, Cause::table), m.count("tails"));
  EXPECT_EQ(written(m, Cause::write_back), counters.written_back);
}

TEST(Redu, IsMadeForCachesThatDoNotSurvive) {
  EXPECT_EQ(on(tiny()).domain, Domain::pmem);
  SimOptions o = on(tiny());
  o.domain = Domain::eadr;
  EXPECT_THROW(SimMachine{o}, Error);
}

TEST(Redu, NothingInTheControllerSurvives) {
  const SimMachine m(on(tiny()));
  EXPECT_EQ(m.design_structure_bytes(), 0u);
}

TEST(Redu, RefusesOptionsThatMakeNoSense) {
  EXPECT_NE(make_design("redu", {{"size", "1"}}).status().message().find("buffer"),
            std::string::npos);
  EXPECT_EQ(make_design("redu", {{"dram", "x"}}).status().code(), Code::invalid_argument);
  EXPECT_NE(make_design("redu", {{"flush", "never"}}).status().message().find("lazy"),
            std::string::npos);
  EXPECT_NE(make_design("redu", {{"printed", "all"}}).status().message().find("together"),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::design_test::redu_test
