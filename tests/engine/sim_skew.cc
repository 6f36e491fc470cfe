// SPDX-License-Identifier: Apache-2.0
//
// Do the structures' promotions prevent write skew, under an engine that allows it? Without
// promotions some schedule must corrupt the structure; with them none may.
#include <gtest/gtest.h>

#include "tests/engine/sim_world.h"
#include "tests/engine/skew_scenarios.h"
#include "tests/engine_options.h"

namespace holdfast::conformance::sim_skew {
namespace {

using H = SimWorld::H;
constexpr int kSeeds = 150;

/// The first engine of the registry whose snapshots allow write skew.
std::string snapshot_engine() {
  return first_of(engine_rows<SimMachine>(), [](const auto& row) {
    return is_durable(*row.description) && row.description->isolation == Isolation::snapshot;
  });
}

/// Allocates a block of each size class. The first one takes a chunk from the heap, which would
/// make the transactions of a scenario conflict.
void warm_up_arenas(SimWorld& world) {
  world.heap();
  world.run(2, [&](int) {
    for (size_t size = 16; size <= 2048; size *= 2) {
      for (const size_t bytes : {size, size + size / 2}) {
        world.heap().update([&] { H::deallocate(H::allocate(bytes), bytes); }).check();
      }
    }
  });
}

/// Makes the arena of this thread hand out a few blocks of each class from different chunks.
/// Transactions that free blocks of one chunk conflict in any case, because they change its map.
void spread_blocks(SimWorld& world) {
  constexpr size_t kBlocks = 5;
  auto& heap = world.heap();
  for (size_t size = 16; size <= 256; size *= 2) {
    for (const size_t bytes : {size, size + size / 2}) {
      std::vector<void*> spread;
      heap.update([&] {
            spread.clear();
            for (size_t i = 0; i < kBlocks; ++i) {
              spread.push_back(H::allocate(bytes));
              for (size_t filled = 0; filled < world.options().chunk_bytes; filled += bytes) {
                H::allocate(bytes);
              }
            }
          })
          .check();
      heap.update([&] {
            for (void* block : spread) {
              H::deallocate(block, bytes);
            }
          })
          .check();
    }
  }
}

/// Returns a seed that corrupts the scenario's structure, or 0.
template <class Scenario>
int corrupting_seed() {
  for (int seed = 1; seed <= kSeeds; ++seed) {
    SimWorld world(snapshot_engine(), Domain::pmem, static_cast<uint64_t>(seed));
    world.options().chunk_bytes = kMinChunkBytes;
    warm_up_arenas(world);
    spread_blocks(world);
    for (int round = 0; round < 3; ++round) {
      auto* structure = skew::prepare<Scenario>(world.heap());
      world.run(2, [&](int thread) {
        world.heap()
            .update(
                [&] { thread == 0 ? Scenario::first(*structure) : Scenario::second(*structure); })
            .check();
      });
      if (!skew::judge<Scenario>(world.heap(), *structure).ok()) {
        return seed;
      }
    }
  }
  return 0;
}

template <template <class, bool> class Scenario>
void expect_promotions_to_matter() {
  EXPECT_GT((corrupting_seed<Scenario<H, false>>()), 0)
      << "no schedule needs the promotion; is it still needed?";
  EXPECT_EQ((corrupting_seed<Scenario<H, true>>()), 0)
      << "this seed corrupts the structure in spite of promotions";
}

// skew::ChainMoveBesidePut is missing. The heap's allocator gives the erased entry's block to the
// insert of the same transaction, so the two transactions conflict in any case.
// tests/unit/structures/scenarios_test.cc has the scenario.
TEST(Skew, ListNeighbouringErases) {
  expect_promotions_to_matter<skew::ListNeighbouringErases>();
}
TEST(Skew, ListInsertBehindErase) {
  expect_promotions_to_matter<skew::ListInsertBehindErase>();
}
TEST(Skew, ChainNeighbouringErases) {
  expect_promotions_to_matter<skew::ChainNeighbouringErases>();
}
TEST(Skew, TreeErases) {
  expect_promotions_to_matter<skew::TreeErases>();
}
TEST(Skew, TreeInsertBelowErase) {
  expect_promotions_to_matter<skew::TreeInsertBelowErase>();
}
TEST(Skew, LeafSplitBesidePut) {
  expect_promotions_to_matter<skew::LeafSplitBesidePut>();
}
TEST(Skew, LeafSplitBesidePutToSet) {
  expect_promotions_to_matter<skew::LeafSplitBesidePutToSet>();
}
TEST(Skew, MoveBesidePut) {
  expect_promotions_to_matter<skew::MoveBesidePut>();
}
TEST(Skew, GrowthBesideInsert) {
  expect_promotions_to_matter<skew::GrowthBesideInsert>();
}

}  // namespace
}  // namespace holdfast::conformance::sim_skew
