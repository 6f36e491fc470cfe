// SPDX-License-Identifier: Apache-2.0
// Does Trinity cost what its page says, and is its table of records right when it runs full, and
// when damaged? (stm_engine_test.cc and stm_recovery_test.cc have what it shares with its like.)
#include "holdfast/engines/trinity/trinity.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engine_fixture.h"

namespace holdfast {
namespace {

using Engine = Trinity<SimMachine>;
using Heap = EngineFixture<Engine>;

EngineFixtureShape shape(const std::string& records) {
  EngineFixtureShape s;
  s.options = {{"records", records}, {"locks", "64"}};
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

TEST(TrinityCost, TwoFencesAndTheLinesOfTheRecords) {
  for (const size_t line : {64u, 128u}) {
    for (size_t n = 1; n <= 40; ++n) {
      World world("1024", line);
      for (const uint64_t value : {1u, 2u}) {  // the first store to a word, and the next one
        const PersistCounters c = world.cost(0, n, value);
        EXPECT_EQ(c.pfence, 1u);
        EXPECT_EQ(c.psync, 1u);
        EXPECT_EQ(c.pwb, (RecordWords::kBytes * n + line - 1) / line + 1) << n << " words";
      }
    }
  }
}

TEST(TrinityCost, TwoMoreFencesWhenTheTableIsFull) {
  World world("16");
  EXPECT_EQ(world.cost(0, 16, 1).pfence, 1u);
  EXPECT_EQ(world.cost(0, 16, 2).pfence, 1u) << "they have their records";
  const PersistCounters c = world.cost(100, 1, 3);
  EXPECT_EQ(c.pfence, 3u);
  EXPECT_EQ(c.psync, 1u);
  // 16 words, 24 bytes apart, lie in 6 lines; base; a record; the number.
  EXPECT_EQ(c.pwb, 6u + 1 + 1 + 1);
  EXPECT_EQ(world.heap.read(45), 2u);
}

TEST(TrinityTable, ATransactionLargerThanTheTableIsRefusedAndLeavesNothing) {
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
TEST(TrinityTable, WordsKeepTheirValuesWhileTheirRecordsComeAndGo) {
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

/// What the medium shows of a transaction whose number was not durable is undone; twice, if need
/// be.
TEST(TrinityRecovery, ATransactionWithoutItsNumberIsUndone) {
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

/// A mark of a former life must not vouch for a record of this one.
TEST(TrinityRecovery, NumbersGoOnAboveAllThatWereEverGiven) {
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

TEST(TrinityRecovery, DamageIsRefusedAndChangesNothing) {
  SimImage good;
  {
    World world("16");
    world.cost(0, 4, 5);
    good = world.machine.earliest_image();
  }
  const RecordArea area = trinity::area(shape("16").options, 3).value();
  const size_t record = area.record_offset;
  for (const size_t at : {size_t{0}, size_t{9}, RecordArea::kBaseOffset, area.mark_offset,
                          record + 23, record + 24 + 4, record + 24 + 7}) {
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
