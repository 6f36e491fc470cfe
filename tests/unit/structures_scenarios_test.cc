// SPDX-License-Identifier: Apache-2.0
//
// Does each scenario of tests/engine/skew_scenarios.h break its structure without promotions, and
// only then? Here where conflicts are found by lines, as hardware does, and by bytes.
#include <gtest/gtest.h>

#include "structures_snapshot_heap.h"
#include "tests/engine/skew_scenarios.h"

namespace holdfast::testing {
namespace {

template <class Scenario>
Status run(uintptr_t granularity, bool swapped, size_t* conflicts) {
  SnapshotHeap heap(granularity);
  auto* s = skew::prepare<Scenario>(heap);
  const std::function<void()> first = [s] { Scenario::first(*s); };
  const std::function<void()> second = [s] { Scenario::second(*s); };
  *conflicts = swapped ? heap.concurrently({second, first}) : heap.concurrently({first, second});
  return skew::judge<Scenario>(heap, *s);
}

template <template <class, bool> class Scenario>
void expect_skew_without_promotion() {
  for (const uintptr_t granularity : {1, 64}) {
    for (const bool swapped : {false, true}) {
      size_t conflicts = 0;
      const Status with = run<Scenario<SnapshotHeap, true>>(granularity, swapped, &conflicts);
      EXPECT_TRUE(with.ok()) << with.to_string();
      EXPECT_EQ(conflicts, 1U);
      const Status without = run<Scenario<SnapshotHeap, false>>(granularity, swapped, &conflicts);
      EXPECT_FALSE(without.ok()) << "conflicts by " << granularity
                                 << " bytes: the pair proves nothing";
      EXPECT_EQ(conflicts, 0U);
    }
  }
}

TEST(StructuresScenariosTest, ListNeighbouringErases) {
  expect_skew_without_promotion<skew::ListNeighbouringErases>();
}
TEST(StructuresScenariosTest, ListInsertBehindErase) {
  expect_skew_without_promotion<skew::ListInsertBehindErase>();
}
TEST(StructuresScenariosTest, ChainNeighbouringErases) {
  expect_skew_without_promotion<skew::ChainNeighbouringErases>();
}
TEST(StructuresScenariosTest, TreeErases) {
  expect_skew_without_promotion<skew::TreeErases>();
}
TEST(StructuresScenariosTest, TreeInsertBelowErase) {
  expect_skew_without_promotion<skew::TreeInsertBelowErase>();
}
TEST(StructuresScenariosTest, LeafSplitBesidePut) {
  expect_skew_without_promotion<skew::LeafSplitBesidePut>();
}
TEST(StructuresScenariosTest, MoveBesidePut) {
  expect_skew_without_promotion<skew::MoveBesidePut>();
}
TEST(StructuresScenariosTest, GrowthBesideInsert) {
  expect_skew_without_promotion<skew::GrowthBesideInsert>();
}

}  // namespace
}  // namespace holdfast::testing
