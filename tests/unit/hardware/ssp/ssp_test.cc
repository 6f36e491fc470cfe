// SPDX-License-Identifier: Apache-2.0
// Does SSP take as long, and write and read as much, as its rules say? The numbers of the rules are
// those of docs/reference/hardware/ssp.md.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/hardware/design_rules.h"

namespace holdfast::design_test::ssp_test {
namespace {

constexpr size_t kPageLines = kPageBytes / 64;

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  Options all = {{"frames", "64"}};
  for (const auto& [name, value] : more) {
    all[name] = value;
  }
  return small_tables(options(machine, "ssp", all));
}

/// A transaction that stores to the first line of each of these pages.
void store_pages(DesignMachine& m, size_t first, size_t pages, uint64_t value) {
  m->tx_start();
  for (size_t page = first; page < first + pages; ++page) {
    m.set(page * kPageLines, value);
  }
  m->tx_commit();
}

/// Uses so many other pages that the first ones leave the core's TLBs.
void push_out_pages(DesignMachine& m, size_t from, size_t pages) {
  for (size_t page = from; page < from + pages; ++page) {
    m.get(page * kPageLines + page % 8);
  }
  m->fence();
}

// Lines go to the other frame, and a record of half a line for each page to the journal.
TEST(Ssp, Rule1ACommitWritesItsLinesAndOneJournalLineForTwoPages) {
  for (const size_t pages : {1u, 2u, 3u, 8u}) {
    DesignMachine m(on(with_queues(roomy())));
    m.run([&] {
      store_pages(m, 0, pages, 1);
      m->fence();
    });
    EXPECT_EQ(written(m, Cause::data), pages);
    EXPECT_EQ(written(m, Cause::journal), (pages + 1) / 2);
    EXPECT_EQ(m->design_counters().writes, pages + (pages + 1) / 2);
    EXPECT_EQ(m->design_counters().written_back, 0u);
  }
}

TEST(Ssp, Rule1ATransactionWithoutStoresWritesNothing) {
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

// The lines go at the same time: through the last level and to the controller. The record follows.
TEST(Ssp, Rule2ACommitWaitsForItsLinesAndThenForItsRecord) {
  constexpr uint64_t kLastLevel = 10;
  for (const bool together : {false, true}) {
    DesignMachine m(on(with_queues(roomy()), {{"printed", together ? "together" : "nothing"}}));
    m.run([&] {
      store_pages(m, 0, 4, 1);
      m->fence();
      m->work(1000);
      const Time before = m->design_counters().commit_waits;
      store_pages(m, 0, 4, 2);
      m->fence();
      EXPECT_EQ(m->design_counters().commit_waits - before,
                (kLastLevel + (together ? 1 : 2) * kToController) * kNs);
    });
  }
}

// The committed lines of the first transaction lie in second frames, those of the second at home.
TEST(Ssp, Rule3TransactionsWriteTheTwoFramesInTurn) {
  DesignMachine m(on(with_queues(roomy())));
  m.run([&] {
    m.transaction(0, 3, 1);
    m->fence();
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), 0u);
    m.transaction(0, 3, 2);
    m->fence();
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), 2u);
    m.transaction(0, 3, 3);
    m->fence();
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), 2u);
  });
  EXPECT_EQ(written(m, Cause::consolidation), 0u);
}

TEST(Ssp, Rule4AMissReadsTheFrameThatHasTheLine) {
  DesignMachine m(on(with_queues(tiny())));
  m.run([&] {
    m.transaction(0, 1, 1);
    m->fence();
    push_out(m);
    const uint64_t reads = m->statistics().medium_reads;
    EXPECT_EQ(m.get(0), 1u);
    m->fence();
    EXPECT_EQ(m->statistics().medium_reads, reads + 1);
    EXPECT_EQ(m->design_counters().fills, 1u);
  });
}

TEST(Ssp, Rule5UncommittedLinesGoToTheOtherFrame) {
  DesignMachine m(on(tiny()));
  m.run([&] {
    m->tx_start();
    for (size_t line = 0; line < 40; ++line) {
      m.set(line, 1);
    }
    m->fence();
    push_out(m);
    EXPECT_EQ(written(m, Cause::data), 40u);
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 3), 0u);
    for (size_t line = 0; line < 40; ++line) {
      EXPECT_EQ(m.get(line), 1u);
    }
    m->tx_abort();
    for (size_t line = 0; line < 40; ++line) {
      EXPECT_EQ(m.get(line), 0u);
    }
  });
}

// Another core has the page in its TLBs. The store waits for a transfer.
TEST(Ssp, Rule6OtherCoresLearnThatALineMoves) {
  MachineDescription machine = with_queues(roomy());
  machine.smt = 1;
  DesignMachine m(on(machine));
  m->run_threads(2, [&](int worker) {
    if (worker == 0) {
      m.get(1);
      m->fence();
      return;
    }
    m->work(1000);
    m.get(0);
    m->fence();
    m->work(1000);
    m.transaction(0, 1, 1);
    m->fence();
  });
  EXPECT_EQ(m.count("broadcasts"), 1u);
  EXPECT_EQ(m->design_counters().store_waits, 20 * kNs) << "tiny.toml: transfer_ns";
}

TEST(Ssp, Rule6AlonePagesTellNobody) {
  DesignMachine m(on(with_queues(roomy())));
  m.run([&] {
    m.transaction(0, 4, 1);
    m->fence();
  });
  EXPECT_EQ(m.count("broadcasts"), 0u);
  EXPECT_EQ(m->design_counters().store_waits, 0u);
}

// A page of 64 lines, of which some have been stored to once.
TEST(Ssp, Rule7APageThatLeavesTheTlbsIsConsolidatedIntoTheFrameWithMoreLines) {
  for (const size_t lines : {1u, 32u, 33u, 63u, 64u}) {
    DesignMachine m(on(with_queues(roomy()), {{"tlb", "2"}}));
    m.run([&] {
      m.transaction(0, lines, 1);
      m->fence();
      EXPECT_EQ(written(m, Cause::consolidation), 0u);
      push_out_pages(m, 10, 3);
      m->work(20'000);
      m.get(13 * kPageLines);
      m->fence();
      const size_t copies = lines <= 32 ? lines : kPageLines - lines;
      EXPECT_EQ(written(m, Cause::consolidation), copies) << lines;
      EXPECT_EQ(m.count("copied"), copies);
      EXPECT_EQ(m.count("consolidated"), copies == 0 ? 0u : 1u);
      EXPECT_EQ(written(m, Cause::journal), copies == 0 ? 1u : 2u);
      EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), lines <= 32 ? 1u : 0u);
      for (size_t line = 0; line < kPageLines; ++line) {
        ASSERT_EQ(m.get(line), line < lines ? 1u : 0u);
      }
    });
  }
}

TEST(Ssp, Rule7AConsolidationReadsAsMuchAsItWrites) {
  DesignMachine m(on(with_queues(roomy()), {{"tlb", "2"}}));
  m.run([&] {
    m.transaction(0, 5, 1);
    m->fence();
    const uint64_t reads = m->design_counters().reads;
    push_out_pages(m, 10, 3);
    m->work(20'000);
    m.get(13 * kPageLines);
    m->fence();
    EXPECT_EQ(m->design_counters().reads - reads, 5u);
    EXPECT_EQ(written(m, Cause::consolidation), 5u);
  });
}

TEST(Ssp, Rule8ATransactionWithMorePagesThanTheTlbsIsAborted) {
  DesignMachine m(on(with_queues(roomy()), {{"tlb", "4"}}));
  m.run([&] {
    store_pages(m, 0, 4, 1);
    EXPECT_THROW(store_pages(m, 0, 12, 2), HtmAbort);
    EXPECT_EQ(m->tx_caught(), AbortCause::capacity);
    for (size_t page = 0; page < 12; ++page) {
      EXPECT_EQ(m.get(page * kPageLines), page < 4 ? 1u : 0u) << page;
    }
    store_pages(m, 4, 4, 3);
    EXPECT_EQ(m.get(7 * kPageLines), 3u);
  });
  EXPECT_EQ(m->design_counters().doomed, 1u);
  EXPECT_EQ(m.count("too_large"), 1u);
}

// The journal has 15 lines. A checkpoint begins when seven are left, or fewer.
TEST(Ssp, Rule9AHalfFullJournalIsCheckpointed) {
  const SimOptions o = on(with_queues(roomy()), {{"journal", "1024"}});
  SimImage image;
  {
    DesignMachine m(o);
    m.run([&] {
      for (uint64_t i = 1; i <= 8; ++i) {
        m.transaction(0, 2, i);
      }
      m->fence();
      EXPECT_EQ(m.count("checkpoints"), 0u);
      for (uint64_t i = 9; i <= 100; ++i) {
        m.transaction(i % 3, 2, i);
        m->fence();
      }
    });
    EXPECT_GE(m.count("checkpoints"), 10u);
    EXPECT_EQ(m.count("table_lines"), m.count("checkpoints")) << "one page, one line";
    image = m->earliest_image();
  }
  const DesignMachine after(o, image);
  EXPECT_EQ(after.get(0), 99u);
  EXPECT_EQ(after.get(1), 100u);
  EXPECT_EQ(after.get(2), 100u);
}

TEST(Ssp, Rule10WithoutAFreeFrameAPageGivesItsOwnUp) {
  DesignMachine m(on(with_queues(roomy()), {{"frames", "2"}}));
  m.run([&] {
    store_pages(m, 0, 2, 1);
    store_pages(m, 2, 1, 2);
    m->fence();
    EXPECT_EQ(m.count("consolidated"), 1u);
    for (size_t page = 0; page < 3; ++page) {
      EXPECT_EQ(m.get(page * kPageLines), page < 2 ? 1u : 2u);
    }
    EXPECT_THROW(store_pages(m, 0, 3, 3), HtmAbort) << "three pages at a time";
    EXPECT_EQ(m->tx_caught(), AbortCause::capacity);
    EXPECT_EQ(m.get(0), 1u);
  });
}

TEST(Ssp, Rule11AStoreOutsideTransactionsGoesToTheCommittedFrame) {
  SimImage image;
  const SimOptions o = on(tiny());
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 1, 1);
      m.set(0, 9, 4);
      m.set(1, 8);
      for (const size_t line : {0u, 1u}) {
        m->pwb(m.word(line));
      }
      m->psync();
      EXPECT_EQ(m->design_counters().written_back, 1u) << "line 1, whose home has its content";
      push_out(m);
      EXPECT_EQ(m.get(0, 4), 9u);
    });
    image = m->earliest_image();
  }
  const DesignMachine after(o, image);
  EXPECT_EQ(after.get(0), 1u);
  EXPECT_EQ(after.get(0, 4), 9u);
  EXPECT_EQ(after.get(1), 8u);
}

TEST(Ssp, Rule12RecoveryCanBeInterruptedAndRepeated) {
  const SimOptions o = on(with_queues(roomy()), {{"journal", "1024"}});
  SimImage image;
  {
    DesignMachine m(o);
    m.run([&] {
      for (uint64_t i = 1; i <= 11; ++i) {
        store_pages(m, 0, 3, i);
      }
      m->tx_start();
      m.set(0, 99);
      m->fence();
    });
    EXPECT_GT(m.count("table_lines"), 0u);
    image = m->earliest_image();
  }
  interrupt_recovery(o, image, [](const SimImage& recovered) {
    for (size_t page = 0; page < 3; ++page) {
      EXPECT_EQ(DesignMachine::in_image(recovered, page * kPageLines), 11u) << page;
    }
  });
}

TEST(Ssp, Rule13CausesAddUpToTheController) {
  DesignMachine m(on(tiny(), {{"journal", "1024"}, {"tlb", "3"}, {"frames", "8"}}));
  m->run_threads(2, [&](int worker) {
    const size_t base = 400 * static_cast<size_t>(worker);
    for (uint64_t i = 1; i < 20; ++i) {
      m.transaction(base, 12, i);
      m.get(base + 64 * (i % 6));
      m.set(base + 30, i);
    }
  });
  m.settle();
  const DesignCounters counters = m->design_counters();
  EXPECT_EQ(std::accumulate(counters.by_cause.begin(), counters.by_cause.end(), uint64_t{0}),
            m->medium_counters().writes);
  EXPECT_EQ(written(m, Cause::journal), m.count("journaled") + m.count("checkpoints"));
  EXPECT_EQ(written(m, Cause::consolidation), m.count("copied"));
  EXPECT_EQ(counters.reads_by_cause[static_cast<size_t>(ReadCause::consolidation)],
            m.count("copied"))
      << "as many reads as writes";
  EXPECT_EQ(written(m, Cause::table), m.count("table_lines"));
}

TEST(Ssp, SettlingBringsAllLinesHome) {
  DesignMachine m(on(roomy()));
  m.run([&] { store_pages(m, 0, 5, 7); });
  m.settle();
  for (size_t page = 0; page < 5; ++page) {
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), page * kPageLines), 7u);
  }
}

TEST(Ssp, IsMadeForCachesThatDoNotSurvive) {
  EXPECT_EQ(on(tiny()).domain, Domain::pmem);
  SimOptions o = on(tiny());
  o.domain = Domain::eadr;
  EXPECT_THROW(SimMachine{o}, Error);
}

TEST(Ssp, RefusesOptionsThatMakeNoSense) {
  EXPECT_NE(make_design("ssp", {{"size", "1"}}).status().message().find("frames"),
            std::string::npos);
  EXPECT_EQ(make_design("ssp", {{"frames", "0"}}).status().code(), Code::invalid_argument);
  EXPECT_NE(make_design("ssp", {{"printed", "all"}}).status().message().find("together"),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::design_test::ssp_test
