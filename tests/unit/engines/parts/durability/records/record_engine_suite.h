// SPDX-License-Identifier: Apache-2.0
//
// Is a table of records right when it runs full, when power fails, and when damaged? A suite that
// each engine with such a table instantiates in its own folder.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "tests/unit/engines/parts/durability/records/record_world.h"

namespace holdfast::record_suite {

template <class E>
class RecordEngine : public testing::Test {};
TYPED_TEST_SUITE_P(RecordEngine);

/// Without a loan, for engines that borrow.
TYPED_TEST_P(RecordEngine, ATransactionLargerThanTheTableIsRefusedAndLeavesNothing) {
  using World = RecordWorld<TypeParam>;
  World world("16");
  world.cost(0, 3, 7);
  try {
    world.cost(0, 17, 8);
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_FALSE(TypeParam::kDescription.any_size);
    EXPECT_EQ(error.status().code(), Code::too_large);
  } catch (const LoanNeeded& need) {
    EXPECT_TRUE(TypeParam::kDescription.any_size);
    EXPECT_EQ(need.bytes, 17u * 16);
  }
  EXPECT_EQ(world.heap.read(0), 7u);
  EXPECT_EQ(world.heap.read(9), 0u);
  EXPECT_EQ(world.cost(0, 16, 9).psync, 1u);
}

/// Words of all the heap through a table of 16 records, power cut after some of the transactions.
TYPED_TEST_P(RecordEngine, WordsKeepTheirValuesWhileTheirRecordsComeAndGo) {
  using World = RecordWorld<TypeParam>;
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
    SimMachine machine(World::options(), image);
    EngineFixture<TypeParam> after(machine, World::shape("16"));
    after.recover().check();
    for (uint64_t k = 0; k <= last; ++k) {
      ASSERT_EQ(after.read(k * 37 % 500), k + 1) << "after " << last;
    }
  }
}

/// A transaction whose number was not durable, a batch of which a record is missing; twice, if need
/// be.
TYPED_TEST_P(RecordEngine, WhatIsNotWholeIsUndone) {
  using World = RecordWorld<TypeParam>;
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
      SimMachine machine(World::options(), image);
      EngineFixture<TypeParam> after(machine, World::shape("64"));
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

/// Nothing of a former life may vouch for a record of this one.
TYPED_TEST_P(RecordEngine, NumbersGoOnAboveAllThatWereEverGiven) {
  using World = RecordWorld<TypeParam>;
  SimImage image;
  {
    World world("64");
    for (uint64_t i = 0; i < 20; ++i) {
      world.heap.write(i, i);
    }
    image = world.machine.latest_image();
  }
  for (uint64_t life = 0; life < 4; ++life) {
    SimMachine machine(World::options(), image);
    EngineFixture<TypeParam> heap(machine, World::shape("64"));
    heap.recover().check();
    EXPECT_TRUE(heap.report().needed);
    EXPECT_EQ(heap.read(0), life == 0 ? 0 : 100 + life - 1);
    EXPECT_EQ(heap.read(19), 19u);
    heap.write(0, 100 + life);
    image = machine.earliest_image();
  }
}

/// Bytes of the engine area in which damage must be found. Each engine defines it for itself.
template <class E>
std::vector<size_t> damaged_bytes(const Options& options);

TYPED_TEST_P(RecordEngine, DamageIsRefusedAndChangesNothing) {
  using World = RecordWorld<TypeParam>;
  SimImage good;
  {
    World world("16");
    world.cost(0, 4, 5);
    good = world.machine.earliest_image();
  }
  for (const size_t at : damaged_bytes<TypeParam>(World::shape("16").options)) {
    SimImage bad = good;
    bad[at] ^= std::byte{0x40};
    SimMachine machine(World::options(), bad);
    EngineFixture<TypeParam> heap(machine, World::shape("16"));
    EXPECT_EQ(heap.recover().code(), Code::corrupt) << "byte " << at;
    EXPECT_TRUE(machine.latest_image() == bad);
  }
}

REGISTER_TYPED_TEST_SUITE_P(RecordEngine, ATransactionLargerThanTheTableIsRefusedAndLeavesNothing,
                            WordsKeepTheirValuesWhileTheirRecordsComeAndGo, WhatIsNotWholeIsUndone,
                            NumbersGoOnAboveAllThatWereEverGiven, DamageIsRefusedAndChangesNothing);

}  // namespace holdfast::record_suite
