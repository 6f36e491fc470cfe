// SPDX-License-Identifier: Apache-2.0
// Does an update cost what the page of Quadra says, and are batches split that are too large?
#include "holdfast/engines/quadra/quadra.h"

#include <gtest/gtest.h>

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
    SimOptions o = World::options();
    o.seed = seed;
    SimMachine machine(o);
    EngineFixture<Quadra<SimMachine>> heap(machine, World::shape("16"));
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
      EXPECT_EQ(W::value_of(after), 6u);
    }
  }
  EXPECT_GT(finished, 0u);
  EXPECT_LT(finished, images.size());
}

}  // namespace
}  // namespace holdfast::quadra_test
