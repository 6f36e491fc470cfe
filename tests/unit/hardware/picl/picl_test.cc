// SPDX-License-Identifier: Apache-2.0
// Does PiCL log, write and wait as its rules say, and does recovery find the epoch that they name?
// The numbers are those of docs/reference/hardware/picl.md, "Rules".
#include "holdfast/hardware/picl/picl.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/hardware/design_rules.h"
#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::picl_test {
namespace {

constexpr uint64_t kEpoch = 20'000;  // instructions; a scan takes less than a half of it

SimOptions on(const MachineDescription& machine, Options more = {}) {
  more.try_emplace("epoch_instructions", std::to_string(kEpoch));
  return options(machine, "picl", more);
}

/// An empty transaction, which lets a due epoch end and due steps of a scan happen.
void look(DesignMachine& m) {
  m->tx_start();
  m->tx_commit();
  m->fence();
}

/// Ends epochs, and waits for the scan of each.
void end_epochs(DesignMachine& m, uint64_t epochs = 1) {
  const uint64_t before = m.count("epochs");
  while (m.count("epochs") < before + epochs) {
    m->work(kEpoch / 4);
    look(m);
  }
}

/// Waits for the scan that runs.
void finish_scan(DesignMachine& m) {
  m->work(kEpoch / 2);
  look(m);
}

using Lines = std::vector<uint64_t>;

/// The first lines after a power failure that left this image.
Lines recovered(const SimOptions& o, const SimImage& image, size_t lines) {
  const DesignMachine m(o, image);
  Lines values;
  for (size_t line = 0; line < lines; ++line) {
    values.push_back(m.get(line));
  }
  return values;
}

/// Runs f(m) on one worker. Returns the image at the end.
template <class F>
SimImage image_after(const SimOptions& o, F&& f) {
  DesignMachine m(o);
  m.run([&] { f(m); });
  return m->earliest_image();
}

// ---- stores (rules 1 to 4)

TEST(Picl, Rule1OneEntryForTheFirstStoreOfAnEpochToALine) {
  DesignMachine m(on(roomy()));
  m.run([&] {
    m.transaction(0, 3, 1);
    m.transaction(0, 3, 2);
    m->fence();
    EXPECT_EQ(m.count("logged"), 3u);
    end_epochs(m);
    m.transaction(0, 2, 3);
    m->fence();
    EXPECT_EQ(m.count("logged"), 5u);
  });
  EXPECT_EQ(m->statistics().medium_writes, 0u) << "the buffer has room, and the caches have";
}

TEST(Picl, Rule1ALineThatComesBackFromMemoryHasNoTag) {
  DesignMachine m(on(tiny()));
  m.run([&] {
    m.transaction(0, 1, 1);
    m->fence();
    push_out(m);
    m.transaction(0, 1, 2);
    m->fence();
  });
  EXPECT_EQ(m.count("logged"), 2u);
  EXPECT_EQ(written(m, Cause::write_back), 1u);
}

TEST(Picl, Rule2ABlockHasTheLinesAndAWordForEach) {
  // Two words and one for each entry, eight in a line.
  for (const auto& [entries, lines] :
       {std::pair{4u, 4u + 1}, {6u, 6u + 1}, {7u, 7u + 2}, {32u, 32u + 5}}) {
    DesignMachine m(on(roomy(), {{"entries", std::to_string(entries)}}));
    m.run([&] {
      m.transaction(0, entries, 1);
      m->fence();
      EXPECT_EQ(m.count("flushes"), 0u);
      m.transaction(entries, 1, 1);
      m->fence();
    });
    EXPECT_EQ(m.count("flushes"), 1u);
    EXPECT_EQ(written(m, Cause::log), lines) << entries;
    EXPECT_EQ(m->statistics().medium_writes, lines);
  }
}

TEST(Picl, Rule3ASecondBufferTakesEntriesWhileABlockIsWritten) {
  Time waits[2];
  for (const bool two : {false, true}) {
    DesignMachine m(on(roomy(), {{"entries", "2"}, {"buffers", two ? "2" : "1"}}));
    m.run([&] {
      for (size_t line = 0; line < 4; ++line) {
        m.get(line);
      }
      m->fence();
      m.transaction(0, 4, 1);
      m->fence();
    });
    EXPECT_EQ(m.count("flushes"), 1u);
    waits[two ? 1 : 0] = m->design_counters().store_waits;
  }
  EXPECT_GT(waits[0], 0u);
  EXPECT_EQ(waits[1], 0u);
}

TEST(Picl, Rule3AStoreWaitsWhileBothBuffersAreFull) {
  DesignMachine m(on(roomy(), {{"entries", "2"}}));
  m.run([&] {
    for (size_t line = 0; line < 12; ++line) {
      m.get(line);
    }
    m->fence();
    m.transaction(0, 12, 1);
    m->fence();
  });
  EXPECT_EQ(m.count("flushes"), 5u);
  EXPECT_GT(m->design_counters().store_waits, 0u);
}

TEST(Picl, Rule4ACommitWritesNothingAndWaitsForNothing) {
  DesignMachine m(on(roomy()));
  m.run([&] {
    for (uint64_t n = 1; n <= 20; ++n) {
      m.transaction(0, 5, n);
    }
    m->fence();
  });
  EXPECT_EQ(m->statistics().medium_writes, 0u);
  EXPECT_EQ(m->design_counters().commit_waits, 0u);
}

// ---- writes home (rule 5)

TEST(Picl, Rule5ALineGoesHomeBehindItsEntry) {
  const SimOptions o = on(tiny());
  std::vector<SimImage> images;
  images.push_back(image_after(o, [&](DesignMachine& m) {
    m->before_persist_event([&](uint64_t) { images.push_back(m->earliest_image()); });
    m.transaction(0, 1, 1);
    m->fence();
    push_out(m);
    m->before_persist_event({});
    EXPECT_EQ(m.count("hits"), 1u);
    EXPECT_EQ(written(m, Cause::log), 2u) << "the line and its headers";
    EXPECT_EQ(written(m, Cause::write_back), 1u);
  }));
  EXPECT_GE(images.size(), 4u);
  EXPECT_EQ(DesignMachine::in_image(images.back(), 0), 1u);
  for (const SimImage& image : images) {
    EXPECT_EQ(recovered(o, image, 1), Lines{0}) << "its epoch was not persisted";
  }
}

TEST(Picl, Rule5AFilterOfOneBitTakesEachLineForOneOfTheBuffer) {
  for (const bool small : {false, true}) {
    DesignMachine m(on(tiny(), {{"filter_bits", small ? "1" : "4096"}}));
    m.run([&] {
      m.set(1, 5);  // outside transactions: no entry
      m.transaction(0, 1, 1);
      m->fence();
      m->pwb(m.word(1));
      m->psync();
    });
    EXPECT_EQ(m.count("flushes"), small ? 1u : 0u);
  }
}

// ---- epochs (rules 6 and 7)

TEST(Picl, Rule6AnEpochEndsAfterItsInstructions) {
  DesignMachine m(on(roomy()));
  m.run([&] {
    m->work(kEpoch - 100);
    look(m);
    EXPECT_EQ(m.count("epochs"), 0u);
    m->work(100);
    look(m);
    EXPECT_EQ(m.count("epochs"), 1u);
    m->work(kEpoch - 100);
    look(m);
    EXPECT_EQ(m.count("epochs"), 1u);
    m->work(100);
    look(m);
    EXPECT_EQ(m.count("epochs"), 2u);
  });
}

TEST(Picl, Rule6AnEpochDoesNotEndInsideATransaction) {
  for (const char* printed : {"none", "anywhere"}) {
    DesignMachine m(on(roomy(), {{"printed", printed}}));
    m.run([&] {
      m->tx_start();
      m.set(0, 1);
      m->fence();
      m->work(2 * kEpoch);
      m.set(1, 1);
      m->fence();
      EXPECT_EQ(m.count("epochs"), printed == std::string("none") ? 0u : 1u);
      m->tx_commit();
      m->fence();
      EXPECT_EQ(m.count("epochs"), 1u);
    });
  }
}

TEST(Picl, Rule7TransactionsWaitForTheEndOfAnEpoch) {
  DesignMachine m(on(roomy()));
  uint64_t epochs_of_second = 0;
  m->run_threads(2, [&](int worker) {
    if (worker == 0) {
      m->tx_start();
      m.set(0, 1);
      m->fence();
      m->work(2 * kEpoch);
      m.set(1, 1);
      m->work(2 * kEpoch);
      m->tx_commit();
      m->fence();
    } else {
      m->work(3 * kEpoch);
      m->tx_start();
      m.set(20, 1);
      m->fence();
      epochs_of_second = m.count("epochs");
      m->tx_commit();
      m->fence();
    }
  });
  EXPECT_GE(epochs_of_second, 1u);
  EXPECT_GT(m.count("waited"), 0u);
  EXPECT_GT(m->design_counters().begin_waits, 0u);
}

// ---- scans (rules 8 to 10)

TEST(Picl, Rule8AScanWritesTheLinesOfItsEpochGapEpochsLater) {
  for (const uint64_t gap : {1u, 3u}) {
    DesignMachine m(on(roomy(), {{"gap", std::to_string(gap)}}));
    m.run([&] {
      m.transaction(0, 5, 1);
      m->fence();
      end_epochs(m, gap - 1);
      EXPECT_EQ(m->statistics().medium_writes, 0u);
      EXPECT_EQ(m.count("persisted"), 0u);
      end_epochs(m, 1);
      finish_scan(m);
      EXPECT_EQ(m.count("persisted"), 1u);
      EXPECT_EQ(written(m, Cause::data), 5u);
      EXPECT_EQ(written(m, Cause::log), 5u + 1);
      EXPECT_EQ(written(m, Cause::table), 2u) << "the epoch's number, and the tail of the log";
    });
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 4), 1u);
  }
}

TEST(Picl, Rule9AScanLeavesLinesThatWereStoredToSince) {
  const SimOptions o = on(roomy());
  const SimImage image = image_after(o, [](DesignMachine& m) {
    m.transaction(0, 2, 1);
    end_epochs(m);
    m.transaction(0, 1, 2);
    m->fence();
    end_epochs(m, 2);
    finish_scan(m);
    EXPECT_EQ(m.count("persisted"), 1u);
    EXPECT_EQ(written(m, Cause::data), 1u);
  });
  EXPECT_EQ(DesignMachine::in_image(image, 0), 0u) << "the log has its bytes of epoch 1";
  EXPECT_EQ(recovered(o, image, 2), (Lines{1, 1}));
}

TEST(Picl, Rule10AScanFreesTheBlocksOfOlderEpochs) {
  const SimOptions o = on(tiny(), {{"entries", "2"}});
  const SimImage image = image_after(o, [](DesignMachine& m) {
    for (uint64_t n = 1; n <= 8; ++n) {
      m.transaction(0, 6, n);
      end_epochs(m);
    }
    finish_scan(m);
    EXPECT_EQ(m.count("persisted"), 6u);
  });
  DesignMachine next(o, image);
  EXPECT_EQ(next->design_recovery().lines_written, 6u);
  EXPECT_EQ(next.get(0), 6u);
}

// Without the rule a line that stays in a cache has the tag of the running epoch again, and is
// stored to without an entry.
TEST(Picl, Rule10FourBitsOfATagAreEnoughBecauseAScanClearsThem) {
  for (const bool sound : {true, false}) {
    const SimOptions o = on(roomy(), {{"printed", sound ? "none" : "tags"}});
    const SimImage image = image_after(o, [&](DesignMachine& m) {
      m.transaction(0, 1, 1);
      end_epochs(m, 15);
      finish_scan(m);
      const uint64_t logged = m.count("logged");
      m.transaction(0, 1, 2);
      m->fence();
      EXPECT_EQ(m.count("logged") - logged, sound ? 1u : 0u);
      m->pwb(m.word(0));
      m->psync();
    });
    EXPECT_EQ(recovered(o, image, 1), Lines{sound ? 1u : 2u});
  }
}

// ---- recovery (rules 11 to 13)

TEST(Picl, Rule11RecoveryFindsTheEndOfTheNewestPersistedEpoch) {
  for (const MachineDescription& machine : {roomy(), tiny()}) {
    for (const uint64_t gap : {1u, 3u}) {
      const SimOptions o = on(machine, {{"gap", std::to_string(gap)}});
      std::vector<SimImage> images;
      std::vector<Lines> states(1, Lines(20));  // at the end of each epoch
      image_after(o, [&](DesignMachine& m) {
        for (uint64_t n = 1; n <= 20; ++n) {  // one transaction of each epoch
          m.transaction(n % 7, 12, n);
          states.push_back(states.back());
          std::fill_n(states.back().begin() + static_cast<int>(n % 7), 12, n);
          m->fence();
          end_epochs(m);
          finish_scan(m);
          images.push_back(m->earliest_image());
        }
      });
      for (uint64_t n = 1; n <= 20; ++n) {
        const uint64_t persisted = n < gap ? 0 : n + 1 - gap;
        EXPECT_EQ(recovered(o, images[n - 1], 20), states[persisted]) << "epoch " << n;
      }
    }
  }
}

TEST(Picl, Rule11RecoveryGoesOnFromThePersistedEpoch) {
  const SimOptions o = on(tiny());
  SimImage image;
  for (uint64_t life = 1; life <= 3; ++life) {
    DesignMachine m(o, image);
    EXPECT_EQ(m.get(0), life - 1);
    m.run([&] {
      m.transaction(0, 8, life);
      end_epochs(m, 3);
      finish_scan(m);
      m.transaction(0, 8, 99);
      m->fence();
      push_out(m);
    });
    image = m->earliest_image();
  }
}

TEST(Picl, Rule12AllIsHomeWhenTheHeapIsClosed) {
  const SimOptions o = on(roomy());
  SimImage image;
  {
    DesignMachine m(o);
    m.run([&] {
      for (uint64_t n = 1; n <= 3; ++n) {
        m.transaction(0, 4, n);
        end_epochs(m);
      }
      m.transaction(0, 4, 9);
      m->fence();
    });
    m.settle();
    image = m->earliest_image();
  }
  DesignMachine next(o, image);
  EXPECT_EQ(next->design_recovery().lines_written, 0u);
  EXPECT_EQ(next.get(3), 9u);
}

TEST(Picl, Rule13AnAbortPutsTheOldBytesBackAndTheScanFindsThem) {
  for (const MachineDescription& machine : {roomy(), tiny()}) {
    const SimOptions o = on(machine);
    const SimImage image = image_after(o, [](DesignMachine& m) {
      m.transaction(0, 2, 1);
      m->tx_start();
      m.set(0, 2);
      m.set(2, 2);
      m->fence();
      push_out(m);
      m->tx_abort();
      EXPECT_EQ(m.get(0), 1u);
      EXPECT_EQ(m.get(2), 0u);
      end_epochs(m, 3);
      finish_scan(m);
      EXPECT_EQ(m.count("persisted"), 1u);
    });
    EXPECT_EQ(recovered(o, image, 3), (Lines{1, 1, 0}));
  }
}

// ---- the machine

TEST(Picl, RefusesCachesThatSurviveAndWrongOptions) {
  SimOptions o = on(tiny());
  EXPECT_EQ(o.domain, Domain::pmem);
  o.domain = Domain::eadr;
  EXPECT_THROW(SimMachine{o}, Error);
  for (const auto& [name, value] : {std::pair{"gap", "0"},
                                    {"gap", "13"},
                                    {"buffers", "3"},
                                    {"entries", "0"},
                                    {"printed", "all"}}) {
    EXPECT_EQ(make_design("picl", {{name, value}}).status().code(), Code::invalid_argument);
  }
}

TEST(Picl, WritesLogHomeAndTablesOnly) {
  DesignMachine m(on(tiny(), {{"entries", "2"}}));
  m.run([&] {
    for (uint64_t n = 1; n <= 12; ++n) {
      m.transaction(n % 5, 12, n);
      end_epochs(m);
    }
  });
  const DesignCounters counters = m->design_counters();
  const uint64_t sum =
      std::accumulate(std::begin(counters.by_cause), std::end(counters.by_cause), uint64_t{0});
  EXPECT_EQ(sum, m->statistics().medium_writes);
  EXPECT_EQ(sum, written(m, Cause::log) + written(m, Cause::table) + written(m, Cause::data) +
                     written(m, Cause::write_back));
  m.settle();
  EXPECT_EQ(written(m, Cause::log), m.count("logged") + m.count("flushes"))
      << "a line for each entry and one of headers for each block";
}

}  // namespace
}  // namespace holdfast::design_test::picl_test
