// SPDX-License-Identifier: Apache-2.0
// Does Hercules take as long, and write as much, as its rules say, and survive every power failure?
#include "holdfast/hardware/hercules/hercules.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/hardware/design_rules.h"
#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::hercules_test {
namespace {

/// Few entries, so that the eWPQ overflows, and frequent work in the background.
const Options kFew = {{"ewpq", "2"}, {"migrate", "3000"}, {"collect", "32"}, {"small_l1", "0"}};
const Options kSpread = {{"ewpq", "2"}, {"migrate", "3000"}, {"spread", "4"}, {"small_l1", "0"}};
const Options kFewNumbers = {{"ewpq", "2"}, {"numbers", "11"}, {"small_l1", "0"}};

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  return options(machine, "hercules", more);
}

TEST(Hercules, IsMadeForCachesThatSurvive) {
  EXPECT_EQ(on(tiny()).domain, Domain::eadr);
  SimOptions o = on(tiny());
  o.domain = Domain::pmem;
  EXPECT_THROW(SimMachine{o}, Error);
}

// The store of the length hits L1 (1 cycle on this machine) or misses; the tags take ten cycles.
TEST(Hercules, ACommitClearsAllTagsInTenCyclesWhateverTheirNumber) {
  std::vector<Time> waits;
  for (const size_t lines : {1u, 8u}) {
    DesignMachine m(on(roomy()));
    m.run([&] {
      m.transaction(0, 8, 1);  // brings the lines, and the line of lengths, into L1
      m->fence();
      const Time before = m->design_counters().commit_waits;
      m.transaction(0, lines, 2);
      m->fence();
      waits.push_back(m->design_counters().commit_waits - before);
    });
    EXPECT_EQ(m->design_counters().writes, 0u) << "no line goes to memory at a commit";
    EXPECT_EQ(m->statistics().medium_writes, 0u);
  }
  EXPECT_EQ(waits[0], waits[1]);
  EXPECT_GE(waits[0], 10 * kNs);
  EXPECT_LE(waits[0], 12 * kNs);
}

// The start stores to the same line, and does not wait for it. The commit waits for what is left.
TEST(Hercules, ACommitWaitsForTheLineOfLengths) {
  DesignMachine m(on(roomy()));
  m.run([&] {
    warm(m, 1);
    const uint64_t miss = m.load_ns(100);
    m.transaction(0, 1, 1);  // the first one, so the line of lengths lies in memory
    m->fence();
    EXPECT_GT(m->design_counters().commit_waits, (miss + 5) * kNs);
    EXPECT_LT(m->design_counters().commit_waits, (miss + 12) * kNs);
  });
}

// The cycles of a description include the levels above, those of the paper's table do not.
TEST(Hercules, AHitOfATaggedLineTakesLongerByAPartOfItsLevelsOwnCycles) {
  MachineDescription machine = roomy();
  machine.l1.hit_cycles = 10;
  machine.l2.hit_cycles = 30;
  machine.llc.hit_cycles = 70;
  DesignMachine m(on(machine));
  const auto more = [&](Level level) { return m->hardware_design()->hit(level, {}, 0); };
  EXPECT_EQ(more(Level::l1), 3 * kNs);
  EXPECT_EQ(more(Level::l2), 6 * kNs);
  EXPECT_EQ(more(Level::llc), 12 * kNs);
}

TEST(Hercules, TaggedLinesStayWhenOtherLinesCome) {
  DesignMachine m(on(tiny(), {{"small_l1", "0"}}));
  m.run([&] {
    m->tx_start();
    m.set(0, 7);
    m->fence();
    push_out(m);
    const uint64_t reads = m->statistics().medium_reads;
    EXPECT_EQ(m.get(0), 7u);
    EXPECT_EQ(m->statistics().medium_reads, reads);
    m->tx_commit();
    m->fence();
    push_out(m);
    EXPECT_EQ(m.count("flushed"), 0u);
    EXPECT_GE(written(m, Cause::write_back), 1u) << "committed, it leaves like any other";
  });
}

TEST(Hercules, ATaggedLineThatLeavesIsWrittenToTheLogAndComesBackDirty) {
  DesignMachine m(on(tiny(), {{"small_l1", "0"}}));
  m.run([&] {
    m->tx_start();
    for (size_t line = 0; line < 30; ++line) {
      m.set(line, line + 1);
    }
    m->fence();
    EXPECT_GT(m.count("flushed"), 10u) << "tagged lines have a part of each set only";
    for (size_t line = 0; line < 30; ++line) {
      EXPECT_EQ(m.get(line), line + 1);
    }
    m->fence();
    EXPECT_GT(m.count("reloaded"), 10u);
    EXPECT_EQ(written(m, Cause::log), m.count("flushed"));
    EXPECT_EQ(written(m, Cause::table), m.count("flushed")) << "their addresses";
    EXPECT_EQ(written(m, Cause::write_back), 0u) << "nothing goes home before the commit";
    m->tx_commit();
    m->fence();
    EXPECT_EQ(m.count("flushed"), written(m, Cause::log)) << "a commit writes nothing";
  });
}

// The second transaction's line leaves the caches. The committed one of the first lies below.
TEST(Hercules, AnAbortUncoversTheCommittedContent) {
  for (const bool leaves : {false, true}) {
    DesignMachine m(on(tiny(), {{"small_l1", "0"}}));
    m.run([&] {
      m.transaction(0, 3, 1);
      m->tx_start();
      m.set(0, 2);
      m.set(1, 2);
      m->fence();
      if (leaves) {
        push_out(m);
      }
      m->tx_abort();
      for (size_t line = 0; line < 3; ++line) {
        EXPECT_EQ(m.get(line), 1u) << line;
      }
    });
  }
}

TEST(Hercules, TheQueueOverflowsIntoMemoryAndAMissThenAsksThere) {
  uint64_t reads[2] = {};
  for (const bool few : {false, true}) {
    DesignMachine m(on(tiny(), {{"ewpq", few ? "2" : "512"}, {"small_l1", "0"}}));
    m.run([&] {
      m->tx_start();
      for (size_t line = 0; line < 30; ++line) {
        m.set(line, 1);
      }
      m->fence();
      EXPECT_EQ(m.count("overflowed") > 0, few);
      const uint64_t before = m->statistics().medium_reads;
      m.get(200);
      m->fence();
      reads[few ? 1 : 0] = m->statistics().medium_reads - before;
      m->tx_commit();
    });
  }
  EXPECT_EQ(reads[0], 1u);
  EXPECT_EQ(reads[1], 2u);
}

// An entry has 64 bits (4.1), so eight of the extension share a line, and their writes merge.
TEST(Hercules, EntriesOfTheExtensionShareLines) {
  MachineDescription machine = tiny();
  machine.medium.write_queue = 256;  // has room for all of them, so that they wait
  DesignMachine m(on(machine, {{"ewpq", "2"}, {"small_l1", "0"}}));
  m.run([&] {
    m->tx_start();
    for (size_t line = 0; line < 30; ++line) {
      m.set(line, 1);
    }
    m->fence();
    const uint64_t flushed = m.count("flushed");
    const uint64_t overflowed = m.count("overflowed");
    EXPECT_EQ(written(m, Cause::table), flushed + overflowed);
    EXPECT_GT(overflowed, 10u);
    EXPECT_GT(m->medium_counters().merged, flushed + overflowed / 2)
        << "of the addresses and the entries, each line is written a few times only";
    m->tx_commit();
  });
}

// A power failure may come between two of them: TxLen says that the transaction has committed.
TEST(Hercules, ACommitChangesTheEntriesOfTheQueueOneByOne) {
  DesignMachine m(on(tiny(), {{"small_l1", "0"}}));
  m.run([&] {
    m->tx_start();
    for (size_t line = 0; line < 30; ++line) {
      m.set(line, 1);
    }
    m->fence();
    EXPECT_EQ(m.count("reloaded"), 0u);
    const uint64_t before = m->persist_events();
    m->tx_commit();
    m->fence();
    EXPECT_GE(m->persist_events() - before, 30 + m.count("flushed")) << "tags, and entries";
  });
}

TEST(Hercules, OpenTransactionsMustFitIntoTheLog) {
  DesignMachine m(options_for<Hercules>(
      tiny(), Domain::eadr,
      HerculesOptions{.ewpq_entries = 2, .small_l1 = false, .collect_entries = 32, .records = 64}));
  m.run([&] {
    for (uint64_t n = 1; n <= 10; ++n) {
      m.transaction(0, 40, n);
    }
    m->fence();
    EXPECT_GT(m.count("flushed"), 200u) << "the log has begun anew";
  });
  EXPECT_THROW(m.run([&] { m.transaction(0, 100, 1); }), Error);
}

TEST(Hercules, CommittedLinesOfTheLogAreMigratedHome) {
  DesignMachine m(on(tiny(), {{"migrate", "2000"}, {"small_l1", "0"}}));
  m.run([&] {
    m.transaction(0, 30, 1);
    m->fence();
    EXPECT_GT(m.count("flushed"), 0u);
    m->work(3000);
    m.transaction(40, 1, 1);
    m->fence();
  });
  EXPECT_EQ(m.count("migrated"), m.count("flushed") - m.count("reloaded"));
  EXPECT_EQ(written(m, Cause::migration), m.count("migrated"));
}

// The committed content is in caches, or at home while the transaction's is in the log.
TEST(Hercules, ARemoteTouchAbortsTheOwnerAndSeesTheOldVersion) {
  for (const size_t lines : {2u, 30u}) {
    DesignMachine m(on(tiny(), {{"abort_touched", "1"}, {"small_l1", "0"}}));
    m->run_threads(2, [&](int worker) {
      if (worker == 0) {
        m.transaction(0, lines, 1);
        m->tx_start();
        for (size_t line = 0; line < lines; ++line) {
          m.set(line, 2);
        }
        m->fence();
        EXPECT_EQ(m.count("flushed") > 0, lines > 2);
        m->sleep_until(100'000'000);
        EXPECT_THROW(m.get(50), HtmAbort);
        EXPECT_EQ(m->tx_caught(), AbortCause::conflict);
        m.transaction(0, 1, 3);
        EXPECT_EQ(m.get(0), 3u);
      } else {
        m->sleep_until(90'000'000);
        for (size_t line = lines; line-- > 0;) {
          EXPECT_EQ(m.get(line), 1u) << line;
        }
      }
    });
    EXPECT_EQ(m->design_counters().doomed, 1u);
  }
}

TEST(Hercules, UsesNumbersAgainWhenTheLogHasNoRecordOfThem) {
  const auto slots = static_cast<size_t>(tiny().hardware_threads()) + 2;
  EXPECT_THROW(DesignMachine(on(tiny(), {{"numbers", std::to_string(slots)}})), Error);
  DesignMachine m(on(tiny(), {{"numbers", std::to_string(slots + 1)}, {"small_l1", "0"}}));
  m.run([&] {
    m.transaction(0, 30, 1);
    for (size_t i = 0; i < slots; ++i) {
      EXPECT_EQ(m.count("migrated"), 0u);
      m.transaction(40, 1, 1);
      m->fence();
    }
    m.transaction(40, 1, 1);
    m->fence();
    EXPECT_GT(m.count("migrated"), 0u);
    EXPECT_GT(m->design_counters().begin_waits, 0u) << "it waits until the lines are home";
  });
}

// Number 2 is open when the numbers begin anew, and commits later. Only TxLen says so for its lines
// in the extension.
TEST(Hercules, UsesANumberThatHasOutlivedItsRoundAgainWhenItsLinesAreHome) {
  const SimOptions o = on(tiny(), kFewNumbers);
  SimImage image;
  {
    DesignMachine m(o);
    m->run_threads(2, [&](int worker) {
      if (worker == 0) {
        m->sleep_until(10'000'000);
        m->tx_start();
        for (size_t line = 0; line < 30; ++line) {
          m.set(line, 7);
        }
        m->fence();
        m->sleep_until(500'000'000);
        m->tx_commit();
        m->fence();
      } else {
        m.transaction(100, 1, 1);
        m->sleep_until(100'000'000);
        for (int number = 3; number <= 12; ++number) {  // the last one is 1 again
          m.transaction(100, 1, 1);
        }
        m->fence();
        m->sleep_until(900'000'000);
        m->tx_start();
        m.set(101, 1);
        m->fence();
        image = m->earliest_image();
        m->tx_commit();
      }
    });
    EXPECT_GT(m.count("overflowed"), 0u);
  }
  const DesignMachine m(o, image);
  for (size_t line = 0; line < 30; ++line) {
    EXPECT_EQ(m.get(line), 7u) << line;
  }
}

TEST(Hercules, ConsecutiveElementsOfTxLenMayLieOnSeveralLines) {
  const auto waits = [](const char* spread) {
    DesignMachine m(on(roomy(), {{"spread", spread}}));
    m->run_threads(2, [&](int worker) {
      for (int i = 0; i < 50; ++i) {
        m.transaction(static_cast<size_t>(worker) * 10, 4, 1);
      }
      m->fence();
    });
    return m->design_counters().commit_waits;
  };
  EXPECT_LT(waits("16"), waits("1")) << "two cores take a line from each other";
  EXPECT_EQ(make_design("hercules", {{"spread", "3"}}).status().code(), Code::invalid_argument);
}

TEST(Hercules, EveryPowerFailureLeavesTheCommittedTransactions) {
  expect_durable(on(roomy()));
}

TEST(Hercules, EveryPowerFailureWithSmallCachesAndQueues) {
  expect_durable(on(tiny(), kFew));
}

TEST(Hercules, EveryPowerFailureWithElementsOnSeveralLines) {
  expect_durable(on(tiny(), kSpread));
}

TEST(Hercules, EveryPowerFailureWithFewNumbers) {
  expect_durable(on(tiny(), kFewNumbers));
}

// ---- planted bugs

HerculesOptions few() {
  return {
      .ewpq_entries = 2, .small_l1 = false, .migrate_instructions = 3000, .collect_entries = 32};
}

template <class D>
size_t wrong_images_of() {
  return wrong_images(options_for<D>(tiny(), Domain::eadr, few()));
}

/// Tagged content overwrites committed content in a cache below.
struct OverwritesBelow final : Hercules {
  using Hercules::Hercules;
  bool keeps(const CachedLine&, uint8_t) override { return false; }
};

/// The first store overwrites committed content in L1.
struct OverwritesInL1 final : Hercules {
  using Hercules::Hercules;
  Time first_store(const DesignStore& store, Time now) override {
    DesignStore clean = store;
    clean.dirty = false;
    return Hercules::first_store(clean, now);
  }
};

/// A tag does not go down with its line.
struct LosesTags final : Hercules {
  using Hercules::Hercules;
  Leaving leaving(const LineMove& move, Time now) override {
    return move.from == Level::llc ? Hercules::leaving(move, now) : Leaving{move.dirty, 0, now};
  }
};

/// A tagged line leaves the last level for its place in memory.
struct WritesTaggedLinesHome final : Hercules {
  using Hercules::Hercules;
  Leaving leaving(const LineMove& move, Time now) override { return {move.dirty, 0, now}; }
};

/// The last energy writes tagged lines home, too.
struct HasNoEmergencyArea final : Hercules {
  using Hercules::Hercules;
  void power_failure(PowerFailure& power) const override { HardwareDesign::power_failure(power); }
};

/// The last energy writes no tagged line.
struct DropsTaggedLines final : Hercules {
  using Hercules::Hercules;
  void power_failure(PowerFailure& power) const override {
    power.for_each_cached([&](const CachedLine& line, const std::byte* bytes) {
      if (line.dirty && line.flags == 0) {
        power.write(line.line.at, {bytes, power.line_bytes()});
      }
    });
  }
};

/// Stores of a transaction stay untagged from the second line on.
struct TagsOneLine final : Hercules {
  using Hercules::Hercules;
  Time begin(const DesignTransaction& tx, Time now) override {
    tagged = false;
    return Hercules::begin(tx, now);
  }
  Time first_store(const DesignStore& store, Time now) override {
    return std::exchange(tagged, true) ? now : Hercules::first_store(store, now);
  }
  bool tagged = false;
};

/// A commit does nothing.
struct ForgetsToCommit final : Hercules {
  using Hercules::Hercules;
  Time commit(const DesignTransaction&, Time now) override { return now; }
};

TEST(Hercules, PlantedBugsAreFound) {
  EXPECT_EQ(wrong_images_of<Hercules>(), 0u);
  EXPECT_GT(wrong_images_of<OverwritesBelow>(), 0u);
  EXPECT_GT(wrong_images_of<OverwritesInL1>(), 0u);
  EXPECT_GT(wrong_images_of<LosesTags>(), 0u);
  EXPECT_GT(wrong_images_of<WritesTaggedLinesHome>(), 0u);
  EXPECT_GT(wrong_images_of<HasNoEmergencyArea>(), 0u);
  EXPECT_GT(wrong_images_of<DropsTaggedLines>(), 0u);
  EXPECT_GT(wrong_images_of<TagsOneLine>(), 0u);
  EXPECT_GT(wrong_images_of<ForgetsToCommit>(), 0u);
}

TEST(Hercules, AsPrintedItLosesData) {
  Options reload = kFew;
  reload["printed"] = "reload";
  EXPECT_GT(wrong_images(on(tiny(), reload)), 0u);
  Options wrap = kFewNumbers;
  wrap["printed"] = "wrap";
  EXPECT_GT(wrong_images(on(tiny(), wrap)), 0u);
}

TEST(Hercules, LongPowerFailures) {
  expect_durable(on(roomy()), {}, false);
  expect_durable(on(tiny(), kFew), {}, false);
  expect_durable(on(tiny(), kFewNumbers), {}, false);
}

}  // namespace
}  // namespace holdfast::design_test::hercules_test
