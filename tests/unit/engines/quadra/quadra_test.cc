// SPDX-License-Identifier: Apache-2.0
// Does an update cost what the page of Quadra says, and are batches split that are too large?
#include "holdfast/engines/quadra/quadra.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/engines/parts/durability/loan_world.h"
#include "tests/unit/engines/parts/durability/records/record_world.h"

namespace holdfast::quadra_test {
namespace {

using World = RecordWorld<Quadra<SimMachine>>;

TEST(QuadraCost, OneFenceAndTheLinesOfTheRecords) {
  for (const size_t line : {64u, 128u}) {
    for (size_t n = 1; n <= 40; ++n) {
      World world("1024", line);
      for (const uint64_t value : {1u, 2u}) {  // the first store to a word, and the next one
        const PersistCounters c = world.cost(0, n, value);
        EXPECT_EQ(c.pfence, 0u);
        EXPECT_EQ(c.psync, 1u);
        EXPECT_EQ(world.heap.engine().statistics().bytes_stored, value * n * sizeof(uint64_t));
        EXPECT_EQ(world.heap.engine().statistics().bytes_written, value * n * RecordWords::kBytes);
        EXPECT_EQ(c.pwb, (RecordWords::kBytes * n + line - 1) / line) << n << " words";
      }
    }
  }
}

TEST(QuadraCost, WhatStoresNothingPersistsNothing) {
  World world("64");
  world.cost(0, 3, 1);
  const PersistCounters before = world.machine.counters();
  EXPECT_EQ(world.heap.read(0), 1u);
  world.heap.engine().update([&] { world.heap.get(3); });
  EXPECT_THROW(world.heap.engine().update([&] {
    world.heap.set(0, 2);
    throw 1;
  }),
               int);
  const PersistCounters c = world.machine.counters() - before;
  EXPECT_EQ(c.pwb + c.pfence + c.psync, 0u);
  EXPECT_EQ(world.heap.read(0), 1u);
}

TEST(QuadraCost, TwoMoreFencesWhenTheTableIsFull) {
  World world("16");
  EXPECT_EQ(world.cost(0, 16, 1).pfence, 0u);
  EXPECT_EQ(world.cost(0, 16, 2).pfence, 0u) << "they have their records";
  const PersistCounters c = world.cost(100, 1, 3);
  EXPECT_EQ(c.pfence, 2u);
  EXPECT_EQ(c.psync, 1u);
  // 16 words, 24 bytes apart, lie in 6 lines; base; a record.
  EXPECT_EQ(c.pwb, 6u + 1 + 1);
  EXPECT_EQ(world.heap.read(45), 2u);
}

/// Three workers update a heap with a table of 16 records four times each: store(heap, worker).
/// Then see(machine, heap) looks; that for 20 schedules.
template <class Store, class See>
void with_a_small_table(Store&& store, See&& see) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimOptions o = World::options();
    o.seed = seed;
    SimMachine machine(o);
    EngineFixture<Quadra<SimMachine>> heap(machine, World::shape("16"));
    heap.format().check();
    heap.recover().check();
    machine.run_threads(3, [&](int worker) {
      for (int round = 0; round < 4; ++round) {
        heap.engine().update([&] { store(heap, static_cast<size_t>(worker)); });
      }
    });
    see(machine, heap);
  }
}

/// Bodies that would fill the table together are made durable in parts, and all are answered.
TEST(QuadraTable, ABatchLargerThanTheTableIsSplit) {
  with_a_small_table(
      [](auto& heap, size_t worker) {
        for (size_t i = 50 * worker; i < 50 * worker + 10; ++i) {
          heap.set(i, heap.get(i) + 1);
        }
      },
      [](SimMachine&, auto& heap) {
        for (size_t worker = 0; worker < 3; ++worker) {
          for (size_t i = 0; i < 10; ++i) {
            ASSERT_EQ(heap.read(worker * 50 + i), 4u);
          }
        }
        EXPECT_EQ(heap.engine().statistics().bytes_stored, 3u * 4 * 10 * sizeof(uint64_t));
      });
}

/// Words that several bodies store to take one record.
TEST(QuadraTable, ABatchOfTheSameWordsIsNotSplit) {
  uint64_t together = 0;
  with_a_small_table(
      [](auto& heap, size_t) {
        for (size_t i = 0; i < 10; ++i) {
          heap.set(i, heap.get(i) + 1);
        }
      },
      [&](SimMachine& machine, auto& heap) {
        EXPECT_EQ(heap.read(9), 12u);
        EXPECT_FALSE(machine.probes().contains("quadra.batch_full"));
        together += 12 - heap.engine().statistics().batches;
      });
  EXPECT_GT(together, 0u);
}

/// A large body's words make runs, of which each has a header.
TEST(QuadraLarge, CountsItsLogAndItsStores) {
  using W = loan_suite::World<Quadra<SimMachine>>;
  W w;
  w.heap.write(1, 5);
  W::lend(w.heap);
  const Statistics before = w.heap.engine().statistics();
  W::write_large(w.heap, 6);
  const Statistics counted = w.heap.engine().statistics() - before;
  EXPECT_EQ(counted.bytes_stored, W::kWords * 8);
  // The word that had a record goes home first, and the base moves.
  EXPECT_EQ(counted.bytes_written, 8 + W::kWords * 8 + W::kWords * 16);
  W::lend(w.heap, 0);
  uint64_t need = 0;
  try {
    w.heap.engine().update([&] {
      for (size_t i = 0; i < 60; ++i) {
        w.heap.set(i, 7);
      }
      w.heap.set(60, 7);
      w.heap.set(60, 8);  // again, and the first word of a run
      for (size_t i = 100; i < 103; ++i) {
        w.heap.set(i, 7);
      }
      w.heap.set(100, 8);
    });
  } catch (const LoanNeeded& e) {
    need = e.bytes;
  }
  EXPECT_EQ(need, (1 + 61 + 1 + 3) * sizeof(uint64_t));
}

/// Its log goes out, and is checked, in chunks of 64 KiB.
TEST(QuadraLarge, ALogHasSeveralChunks) {
  constexpr size_t kWords = 20'000;
  EngineFixtureShape shape = World::shape("16");
  shape.bytes = 128 * kPageBytes;
  SimMachine machine(World::options());
  EngineFixture<Quadra<SimMachine>> heap(machine, shape);
  heap.format().check();
  heap.recover().check();
  heap.engine().update([&] { heap.engine().lend({64 * kPageBytes, 64 * kPageBytes}); });
  heap.engine().update([&] {
    for (size_t i = 0; i < kWords; ++i) {
      heap.set(i, i + 1);
    }
  });
  EXPECT_EQ(machine.probes()["quadra.large.full_chunk"], 2u);
  EXPECT_EQ(heap.read(kWords - 1), kWords);
}

TEST(QuadraRecovery, SaysThatItHasFinishedALargeBatch) {
  using W = loan_suite::World<Quadra<SimMachine>>;
  std::vector<SimImage> images;
  {
    W w;
    images = W::cuts_of_large(w, 6);
  }
  size_t finished = 0;
  for (const SimImage& image : images) {
    SimMachine machine(W::options(), image);
    W::Heap after(machine, W::shape());
    after.recover().check();
    if (after.report().text.find("large batch") != std::string::npos) {
      ++finished;
      EXPECT_TRUE(after.report().needed);
      EXPECT_EQ(after.report().transactions, 1u);
      EXPECT_EQ(after.report().bytes, W::kWords * 8);
      EXPECT_NE(after.report().text.front(), ',') << after.report().text;
      EXPECT_EQ(W::value_of(after), 6u);
    }
  }
  EXPECT_GT(finished, 0u);
  EXPECT_LT(finished, images.size());
}

TEST(QuadraRecovery, WithoutALargeBatchItEndsNone) {
  SimImage image;
  {
    World world("64");
    world.cost(0, 5, 1);
    image = world.machine.earliest_image();
  }
  SimMachine machine(World::options(), image);
  EngineFixture<Quadra<SimMachine>> heap(machine, World::shape("64"));
  heap.recover().check();
  const auto probes = machine.probes();
  EXPECT_FALSE(probes.contains("quadra.large.recovered"));
  EXPECT_FALSE(probes.contains("quadra.recover.half_sealed")) << "the batch was whole";
}

/// Each record of a batch has the number of them. Words whose check is right, but not that number.
TEST(QuadraRecovery, RecordsThatDisagreeAboutTheirBatchAreRefused) {
  struct Case {
    std::vector<uint64_t> counts;  // of the batch's four records
    bool refused;
  };
  for (const Case& c : {Case{{4, 4, 4, 4}, false},
                        {{4, 4, 4, 5}, true},
                        {{5, 4, 4, 4}, true},
                        {{3, 3, 3, 3}, true},
                        {{5, 5, 5, 5}, false}}) {
    SimImage image;
    {
      World world("64");
      world.cost(0, 4, 6);
      image = world.machine.earliest_image();
    }
    const size_t first = quadra::area(World::shape("64").options).value().record_offset;
    size_t next = 0;
    for (size_t at = first; at < first + 64 * RecordWords::kBytes; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, image.data() + at, sizeof word);
      for (uint64_t i = 0; i < 4; ++i) {
        if (word == RecordWords::place_of(24 * i, 4) && next < c.counts.size()) {
          word = RecordWords::place_of(24 * i, c.counts[next++]);
          std::memcpy(image.data() + at, &word, sizeof word);
          break;
        }
      }
    }
    ASSERT_EQ(next, 4u);
    SimMachine machine(World::options(), image);
    EngineFixture<Quadra<SimMachine>> heap(machine, World::shape("64"));
    const Status status = heap.recover();
    EXPECT_EQ(status.code(), c.refused ? Code::corrupt : Code::ok) << c.counts[0] << c.counts[3];
    if (c.refused) {
      EXPECT_TRUE(machine.latest_image() == image);
    } else {
      EXPECT_EQ(heap.read(0), c.counts[0] == 4 ? 6u : 0u) << "a record is missing";
      EXPECT_EQ(machine.probes()["quadra.recover.half_sealed"], c.counts[0] == 4 ? 0u : 1u);
    }
  }
}

}  // namespace
}  // namespace holdfast::quadra_test
