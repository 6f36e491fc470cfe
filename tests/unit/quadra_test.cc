// SPDX-License-Identifier: Apache-2.0
// Does Quadra cost what its page says, is a batch durable exactly when all its records are, and is
// its table right when it runs full, and when damaged?
#include "holdfast/engines/quadra/quadra.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engine_fixture.h"

namespace holdfast {
namespace {

using Engine = Quadra<SimMachine>;
using Heap = EngineFixture<Engine>;

EngineFixtureShape shape(const std::string& records) {
  EngineFixtureShape s;
  s.options = {{"records", records}};
  s.bytes = 2 * kPageBytes;
  s.max_threads = 3;
  return s;
}

SimOptions options(size_t line = kLineBytes) {
  SimOptions o;
  o.threads = 3;
  o.line_bytes = line;
  return o;
}

struct World {
  explicit World(const std::string& records, size_t line = kLineBytes)
      : machine(options(line)), heap(machine, shape(records)) {
    heap.format().check();
    heap.recover().check();
  }
  PersistCounters cost(size_t first, size_t n, uint64_t value) {
    const PersistCounters before = machine.counters();
    heap.engine().update([&] {
      for (size_t i = 0; i < n; ++i) {
        heap.set(first + 3 * i, value);
      }
    });
    return machine.counters() - before;
  }
  SimMachine machine;
  Heap heap;
};

TEST(QuadraCost, OneFenceAndTheLinesOfTheRecords) {
  for (const size_t line : {64u, 128u}) {
    for (size_t n = 1; n <= 40; ++n) {
      World world("1024", line);
      for (const uint64_t value : {1u, 2u}) {  // the first store to a word, and the next one
        const PersistCounters c = world.cost(0, n, value);
        EXPECT_EQ(c.pfence, 0u);
        EXPECT_EQ(c.psync, 1u);
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

/// Bodies that would fill the table together are made durable in parts, and all are answered.
TEST(QuadraTable, ABatchLargerThanTheTableIsSplit) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimOptions o = options();
    o.seed = seed;
    SimMachine machine(o);
    Heap heap(machine, shape("16"));
    heap.format().check();
    heap.recover().check();
    machine.run_threads(3, [&](int worker) {
      for (uint64_t round = 1; round <= 4; ++round) {
        heap.engine().update([&] {
          for (size_t i = 0; i < 10; ++i) {
            heap.set(static_cast<size_t>(worker) * 50 + i, round);
          }
        });
      }
    });
    for (size_t worker = 0; worker < 3; ++worker) {
      for (size_t i = 0; i < 10; ++i) {
        ASSERT_EQ(heap.read(worker * 50 + i), 4u) << "seed " << seed;
      }
    }
  }
}

TEST(QuadraTable, ATransactionLargerThanTheTableIsRefusedAndLeavesNothing) {
  World world("16");
  world.cost(0, 3, 7);
  try {
    world.cost(0, 17, 8);
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), Code::out_of_space);
  }
  EXPECT_EQ(world.heap.read(0), 7u);
  EXPECT_EQ(world.heap.read(9), 0u);
  EXPECT_EQ(world.cost(0, 16, 9).psync, 1u);
}

/// Words of all the heap through a table of 16 records, power cut after some of the transactions.
TEST(QuadraTable, WordsKeepTheirValuesWhileTheirRecordsComeAndGo) {
  std::vector<std::pair<uint64_t, SimImage>> images;
  {
    World world("16");
    for (uint64_t i = 0; i < 200; ++i) {
      world.heap.write(i * 37 % 500, i + 1);
      if (i % 10 == 3) {
        images.emplace_back(i, world.machine.earliest_image());
      }
    }
  }
  for (const auto& [last, image] : images) {
    SimMachine machine(options(), image);
    Heap after(machine, shape("16"));
    after.recover().check();
    for (uint64_t k = 0; k <= last; ++k) {
      ASSERT_EQ(after.read(k * 37 % 500), k + 1) << "after " << last;
    }
  }
}

/// What the medium shows of a batch of which a record is missing is undone; twice, if need be.
TEST(QuadraRecovery, ABatchWithoutAllItsRecordsIsUndone) {
  std::vector<SimImage> images;
  {
    World world("64");
    world.cost(0, 5, 1);
    world.machine.before_persist_event([&](uint64_t) {
      images.push_back(world.machine.earliest_image());
      images.push_back(world.machine.latest_image());
    });
    world.machine.run_threads(1, [&](int) { world.cost(0, 5, 2); });
    world.machine.before_persist_event({});
  }
  std::set<uint64_t> seen;
  uint64_t undone = 0;
  for (SimImage image : images) {
    for (int round = 0; round < 2; ++round) {
      SimMachine machine(options(), image);
      Heap after(machine, shape("64"));
      after.recover().check();
      undone += after.report().transactions;
      const uint64_t value = after.read(0);
      for (size_t i = 1; i < 5; ++i) {
        EXPECT_EQ(after.read(3 * i), value);
      }
      seen.insert(value);
      image = machine.latest_image();
    }
  }
  EXPECT_EQ(seen, (std::set<uint64_t>{1, 2}));
  EXPECT_GT(undone, 0u);
}

/// A record of a former life must not count for a batch of this one.
TEST(QuadraRecovery, NumbersGoOnAboveAllThatWereEverGiven) {
  SimImage image;
  {
    World world("64");
    for (uint64_t i = 0; i < 20; ++i) {
      world.heap.write(i, i);
    }
    image = world.machine.latest_image();
  }
  for (uint64_t life = 0; life < 4; ++life) {
    SimMachine machine(options(), image);
    Heap heap(machine, shape("64"));
    heap.recover().check();
    EXPECT_TRUE(heap.report().needed);
    EXPECT_EQ(heap.read(0), life == 0 ? 0 : 100 + life - 1);
    EXPECT_EQ(heap.read(19), 19u);
    heap.write(0, 100 + life);
    image = machine.earliest_image();
  }
}

TEST(QuadraRecovery, DamageIsRefusedAndChangesNothing) {
  SimImage good;
  {
    World world("16");
    world.cost(0, 4, 5);
    good = world.machine.earliest_image();
  }
  const RecordArea area = quadra::area(shape("16").options).value();
  const size_t record = area.record_offset;
  for (const size_t at : {size_t{0}, size_t{9}, RecordArea::kBaseOffset, record + 23,
                          record + 24 + 4, record + 24 + 5, record + 24 + 7}) {
    SimImage bad = good;
    bad[at] ^= std::byte{0x40};
    SimMachine machine(options(), bad);
    Heap heap(machine, shape("16"));
    EXPECT_EQ(heap.recover().code(), Code::corrupt) << "byte " << at;
    EXPECT_TRUE(machine.latest_image() == bad);
  }
}

}  // namespace
}  // namespace holdfast
