// SPDX-License-Identifier: Apache-2.0
// Does EHOU take as long, and write and read as much, as its rules say? Numbered, one rule each.
#include "tests/unit/hardware/design_rules.h"
#include "tests/unit/hardware/ehou/ehou_fixture.h"

namespace holdfast::design_test::ehou_test {
namespace {

// 1. A commit writes each line of the transaction once, and with policy `lazy` nothing else.
TEST(Ehou, R01_ACommitWritesItsLinesOnce) {
  DesignMachine m(ehou_on(roomy()));
  m.run([&] {
    m.transaction(0, 5, 1);
    m->fence();
  });
  EXPECT_EQ(m.count("remapped"), 5u);
  EXPECT_EQ(written(m, Cause::write_back), 5u);
  EXPECT_EQ(m->statistics().medium_writes, 5u);
}

// 2. The line's own block keeps the committed content; another block has the new one.
TEST(Ehou, R02_AnUpdateIsOutOfPlace) {
  SimImage image;
  {
    DesignMachine m(ehou_on(roomy()));
    m.run([&] {
      m.transaction(0, 1, 1);
      m->fence();
      EXPECT_EQ(ehou_of(m).block_of(0), Ehou::kSpareBlocks);
      m.transaction(0, 1, 2);
      m->fence();
      EXPECT_EQ(ehou_of(m).block_of(0), Ehou::kSpareBlocks + 1) << "free blocks are a queue";
    });
    image = m->earliest_image();
    EXPECT_EQ(DesignMachine::in_image(image, 0), 0u);
  }
  const DesignMachine m(ehou_on(roomy()), image);
  EXPECT_EQ(m.get(0), 2u);
}

// 3. A later write of the same transaction replaces the first one in its block.
TEST(Ehou, R03_ALaterWriteOfTheTransactionGoesToItsBlock) {
  DesignMachine m(ehou_on(roomy()));
  m.run([&] {
    m->tx_start();
    m.set(0, 1);
    m->pwb(m.word(0));
    m->psync();
    m.set(0, 2);
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m.count("remapped"), 1u);
  EXPECT_EQ(written(m, Cause::write_back), 2u);
}

// 4. A committed mapping that only the cache has goes to the table before a newer one takes its
//    place: one write for each line of the table, which has eight mappings.
TEST(Ehou, R04_AnOverwrittenMappingGoesToTheTable) {
  DesignMachine m(ehou_on(roomy()));
  m.run([&] {
    m.transaction(0, 12, 1);
    m->fence();
    EXPECT_EQ(written(m, Cause::table), 0u);
    m.transaction(0, 12, 2);
    m->fence();
    EXPECT_EQ(written(m, Cause::table), 2u);
    EXPECT_EQ(m.count("overwritten"), 2u);
    m.transaction(20, 4, 3);
    m->fence();
    EXPECT_EQ(written(m, Cause::table), 2u) << "other lines";
  });
}

// 5. With policy `eager` the commit writes its mappings to the table, and waits for that.
TEST(Ehou, R05_EagerCommitsWriteTheTable) {
  std::array<Time, 2> waits{};
  for (const bool eager : {false, true}) {
    DesignMachine m(ehou_on(roomy(), {{"policy", eager ? "eager" : "lazy"}}));
    m.run([&] {
      m.transaction(0, 12, 1);
      m->fence();
      waits[eager ? 1 : 0] = m->design_counters().commit_waits;
      EXPECT_EQ(written(m, Cause::table), eager ? 2u : 0u);
      EXPECT_EQ(m.count("flushed"), eager ? 2u : 0u);
      m.transaction(0, 12, 2);
      m->fence();
      EXPECT_EQ(m.count("overwritten"), eager ? 0u : 2u) << "the table has them";
      EXPECT_EQ(written(m, Cause::table), eager ? 4u : 2u);
    });
  }
  EXPECT_GT(waits[1], waits[0]);
}

/// The time that the commit of one line waits, of a machine whose look-ups take so many cycles.
Time commit_wait(double hit_cycles) {
  MachineDescription machine = roomy();
  machine.ait = {.sets = 8, .ways = 2, .lines = 8, .hit_cycles = hit_cycles};
  DesignMachine m(ehou_on(machine));
  m.run([&] {
    m.get(0);
    m->fence();
    m->work(1000);
    m.transaction(0, 1, 1);
    m->fence();
  });
  return m->design_counters().commit_waits;
}

// 6. A commit waits for the acceptance of its lines and for their mappings, whichever comes later,
//    and then for the controller's answer. On machine `tiny` a write-back takes 10 ns through the
//    caches and 5 to the queue. Its mapping is looked up when it has left the caches.
TEST(Ehou, R06_ACommitWaitsForAcceptanceMappingAndAnswer) {
  EXPECT_EQ(commit_wait(0), 25 * kNs) << "15, and 10 for the answer";
  EXPECT_EQ(commit_wait(5), 25 * kNs);
  EXPECT_EQ(commit_wait(6), 26 * kNs);
  EXPECT_EQ(commit_wait(100), 120 * kNs);
}

// 7. A set of the cache whose entries are all speculative gives one up. Its mappings go to the log,
//    four to a line. The commit reads the log, and writes its mappings to the table.
TEST(Ehou, R07_SpeculativeEntriesOverflow) {
  DesignMachine m(ehou_on(roomy(), kOverflowing));
  m.run([&] {
    m.transaction(0, 10, 1);
    m->fence();
    EXPECT_EQ(m.count("overflowed"), 8u) << "the cache keeps two";
    EXPECT_EQ(written(m, Cause::log), 2u);
    EXPECT_EQ(m.count("applied"), 8u);
    EXPECT_EQ(written(m, Cause::table), 1u) << "lines 0 to 7";
    EXPECT_EQ(m.count("log_reads"), 2u);
    EXPECT_EQ(m->design_counters().reads, 2u);
    EXPECT_EQ(m.count("evicted"), 0u);
  });
}

// 8. Entries without speculative mappings leave first. Their committed mappings go to the table.
TEST(Ehou, R08_CommittedEntriesLeaveFirst) {
  DesignMachine m(ehou_on(roomy(), kOverflowing));
  m.run([&] {
    m.transaction(0, 2, 1);
    m->fence();
    m->tx_start();
    m.set(8, 1);
    m->pwb(m.word(8));
    m->psync();
    EXPECT_EQ(m.count("evicted"), 1u);
    m.set(1, 5);  // outside the line's last transaction: its entry is used
    m->pwb(m.word(1));
    m->psync();
    EXPECT_EQ(m.count("overflowed"), 0u);
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m.count("overflowed"), 0u);
}

// 9. A miss of the cache whose entry the filter has reads the log, and not the table.
TEST(Ehou, R09_AMissOfALoggedEntryReadsTheLog) {
  DesignMachine m(ehou_on(roomy(), ehou_with(kOverflowing, {{"filter_bits", "65536"}})));
  m.run([&] {
    m->tx_start();
    for (size_t line = 0; line < 10; ++line) {
      m.set(line, 7);
      m->pwb(m.word(line));
      m->psync();
    }
    const uint64_t table = m->statistics().table_reads;
    m.set(0, 8);
    m->pwb(m.word(0));
    m->psync();
    EXPECT_EQ(m.count("log_reads"), 1u);
    EXPECT_EQ(m->statistics().table_reads, table);
    EXPECT_EQ(m.count("remapped"), 10u);
    m->tx_commit();
    m->fence();
    EXPECT_EQ(m.get(0), 8u);
  });
  EXPECT_EQ(m.count("false_reads"), 0u);
}

// 10. A false positive of the filter costs one read, and nothing else.
TEST(Ehou, R10_AFalsePositiveCostsOneRead) {
  SimCounters counters[2];
  DesignCounters design[2];
  uint64_t wrong[2];
  SimImage images[2];
  for (const bool small : {false, true}) {
    DesignMachine m(
        ehou_on(tiny(), ehou_with(kOverflowing, {{"filter_bits", small ? "1" : "65536"}})));
    m.run([&] {
      for (uint64_t n = 1; n < 4; ++n) {
        m.transaction(0, 10, n);
        m->fence();
        m->tx_start();
        for (size_t line = 0; line < 6; ++line) {
          m.set(line, 100 + n);
          m->pwb(m.word(line));
          m->psync();
        }
        for (size_t line = 20; line < 30; ++line) {
          EXPECT_EQ(m.get(line), 0u);
        }
        m->tx_commit();
        m->fence();
      }
    });
    const size_t i = small ? 1 : 0;
    counters[i] = m->statistics();
    design[i] = m->design_counters();
    wrong[i] = m.count("false_reads");
    images[i] = m->earliest_image();
  }
  EXPECT_EQ(wrong[0], 0u);
  EXPECT_GE(wrong[1], 30u);
  EXPECT_EQ(counters[1].medium_reads - counters[0].medium_reads, wrong[1]);
  EXPECT_EQ(design[1].reads - design[0].reads, wrong[1]);
  EXPECT_EQ(counters[1].medium_writes, counters[0].medium_writes);
  EXPECT_EQ(design[1].by_cause, design[0].by_cause);
  EXPECT_TRUE(images[0] == images[1]);
}

// 11. An abort brings the committed content back, wherever it lies, and frees the new blocks.
TEST(Ehou, R11_AnAbortForgetsItsMappings) {
  for (const Options& more : {kRoomy, kOverflowing, kShared}) {
    DesignMachine m(ehou_on(tiny(), more));
    m.run([&] {
      m.transaction(0, 6, 1);
      m.set(7, 5);  // outside transactions
      m->tx_start();
      for (const size_t line : {0u, 1u, 2u, 3u, 4u, 7u}) {
        m.set(line, 9);
      }
      m->fence();
      push_out(m);
      m->tx_abort();
      for (size_t line = 0; line < 6; ++line) {
        EXPECT_EQ(m.get(line), 1u) << line;
      }
      EXPECT_EQ(m.get(7), 5u);
      m.transaction(0, 6, 2);
      push_out(m);
      EXPECT_EQ(m.get(0), 2u);
    });
    expect_all_blocks_once(m, "after the abort");
  }
}

// 12. Lines that no transaction has stored to are written where they lie.
TEST(Ehou, R12_StoresOutsideTransactionsAreInPlace) {
  SimImage image;
  {
    DesignMachine m(ehou_on(roomy()));
    m.run([&] {
      m.transaction(0, 1, 1);
      m->fence();
      const uint64_t block = ehou_of(m).block_of(0);
      m.set(0, 2);
      m->pwb(m.word(0));
      m->psync();
      EXPECT_EQ(ehou_of(m).block_of(0), block);
    });
    EXPECT_EQ(m.count("remapped"), 1u);
    image = m->earliest_image();
  }
  const DesignMachine m(ehou_on(roomy()), image);
  EXPECT_EQ(m.get(0), 2u);
}

// 13. A transaction takes a spare block for each of its lines. One that needs more ends the run.
TEST(Ehou, R13_TransactionsNeedSpareBlocks) {
  {
    DesignMachine m(ehou_on(roomy(), {{"spares", "4"}}));
    m.run([&] {
      for (uint64_t n = 0; n < 5; ++n) {
        m.transaction(0, 4, n);
      }
      m->fence();
    });
    expect_all_blocks_once(m, "with four spare blocks");
  }
  DesignMachine m(ehou_on(roomy(), {{"spares", "4"}}));
  EXPECT_THROW(m.run([&] {
    m.transaction(0, 5, 1);
    m->fence();
  }),
               Error);
}

// 14. Writes by cause add up to the controller's, and reads are those of lines, table and log.
TEST(Ehou, R14_TrafficAddsUp) {
  for (const char* policy : {"lazy", "eager"}) {
    DesignMachine m(ehou_on(tiny(), ehou_with(kShared, {{"policy", policy}})));
    m->run_threads(2, [&](int worker) {
      for (uint64_t n = 1; n < 20; ++n) {
        m.transaction(30 * static_cast<size_t>(worker), 12, n);
        m.get(70 + n);
      }
    });
    const DesignCounters counters = m->design_counters();
    EXPECT_EQ(std::accumulate(counters.by_cause.begin(), counters.by_cause.end(), uint64_t{0}),
              m->medium_counters().writes);
    EXPECT_EQ(counters.by_cause[static_cast<size_t>(Cause::write_back)], counters.written_back);
    EXPECT_EQ(counters.writes, written(m, Cause::table) + written(m, Cause::log));
    EXPECT_EQ(m->medium_counters().reads, m->statistics().medium_reads);
    EXPECT_EQ(counters.reads, m.count("log_reads") + m.count("false_reads"));
    EXPECT_GT(m->statistics().table_reads, 0u);
  }
}

TEST(Ehou, RefusesWhatItIsNotMadeFor) {
  SimOptions o = ehou_on(tiny());
  EXPECT_EQ(o.domain, Domain::pmem);
  o.domain = Domain::eadr;
  EXPECT_THROW(SimMachine{o}, Error);
  EXPECT_EQ(make_design("ehou", {{"policy", "slow"}}).status().code(), Code::invalid_argument);
  EXPECT_EQ(make_design("ehou", {{"lines", "12"}}).status().code(), Code::invalid_argument);
  EXPECT_EQ(make_design("ehou", {{"printed", "all"}}).status().code(), Code::invalid_argument);
}

TEST(Ehou, HasTheTableOfItsMachine) {
  const std::string file = HOLDFAST_SOURCE_DIR "/experiments/machines/";
  MachineDescription m = load_machine(file + "champsim-ehou.toml").value();
  const auto design = make_design("ehou", {}).value();
  design->adapt(m);
  EXPECT_EQ(m.ait.sets, 8192u);
  EXPECT_EQ(design->structures(m)[0].entries * design->structures(m)[0].entry_bytes,
            (size_t{64} << 20) + 131'072 * 8)
      << "64 MB of mappings, and the numbers of their entries";
}

}  // namespace
}  // namespace holdfast::design_test::ehou_test
