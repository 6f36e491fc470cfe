// SPDX-License-Identifier: Apache-2.0
//
// Does each scenario of tests/engine/skew_scenarios.h break its structure without promotions, and
// only then? Tested with conflicts by lines, as hardware finds them, and by bytes.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/engine/skew_scenarios.h"
#include "tests/unit/structures/snapshot_heap.h"

namespace holdfast::testing::scenarios_test {
namespace {

// In these pairs an engine may find a conflict by accident. Colour and links of a node share a
// line, and so do a leaf's order word and link. A heap's allocator links free blocks through their
// first word, which is a leaf's order word.

/// Seven black nodes. Each erase makes one side of the root shorter and the root of the other side
/// red.
template <class H, bool kPromote>
struct EraseOnBothSides {
  using Structure = RbTree<H, int64_t, int64_t, kPromote>;
  static constexpr const char* kName = "rb_tree.erase_on_both_sides";
  static void fill(Structure& s) {
    for (int64_t key = 1; key <= 10; ++key) {
      s.insert(key, key);
    }
    for (int64_t key = 10; key > 7; --key) {
      s.erase(key);
    }
  }
  static void first(Structure& s) { s.erase(1); }
  static void second(Structure& s) { s.erase(5); }
  static Status judge(const Structure& s) {
    return skew::expect_keys(s, {2, 3, 4, 6, 7}, &skew::same_key);
  }
};

/// Both transactions insert the same key behind a full leaf. One of them makes room in it first.
template <class H, bool kPromote>
struct AppendBesideSameKey {
  using Structure = BPlusTree<H, int64_t, int64_t, kPromote>;
  static constexpr const char* kName = "bplus_tree.append_beside_same_key";
  static void fill(Structure& s) {
    for (int64_t key = 1; key <= 15; ++key) {
      s.insert(key, 0);
    }
  }
  static void first(Structure& s) { s.insert(16, 0); }
  static void second(Structure& s) {
    s.erase(1);
    s.insert(16, 0);
  }
  static Status judge(const Structure& s) {
    return s.size() == 15 ? Status() : Status(Code::corrupt, "a key is there twice");
  }
};

/// Two leaves: 1 to 15, and 16 alone. One transaction erases 16, the other inserts beside it.
template <class H, bool kPromote>
struct FreeBesideInsert {
  using Structure = BPlusTree<H, int64_t, int64_t, kPromote>;
  static constexpr const char* kName = "bplus_tree.free_beside_insert";
  static void fill(Structure& s) {
    for (int64_t key = 1; key <= 16; ++key) {
      s.insert(key, 0);
    }
  }
  static void first(Structure& s) { s.erase(16); }
  static void second(Structure& s) { s.insert(17, 0); }
  static Status judge(const Structure& s) {
    return s.contains(17) && s.size() == 16 ? Status() : Status(Code::corrupt, "17 is lost");
  }
};

/// Three levels. One transaction frees the last leaf of the left part, which holds only 240. The
/// other frees the first leaf of the right part, which holds only 241. The leaves have only the
/// root in common.
template <class H, bool kPromote>
struct FreeNeighbours {
  using Structure = BPlusTree<H, int64_t, int64_t, kPromote>;
  static constexpr const char* kName = "bplus_tree.free_neighbours";
  static void fill(Structure& s) {
    for (int64_t key = 1; key <= 270; ++key) {
      s.insert(key, 0);
    }
    for (int64_t key = 226; key <= 255; ++key) {
      if (key != 240 && key != 241) {
        s.erase(key);
      }
    }
  }
  static void first(Structure& s) { s.erase(240); }
  static void second(Structure& s) { s.erase(241); }
  static Status judge(const Structure& s) {
    return s.size() == 240 ? Status() : Status(Code::corrupt, "a scan leaves the tree");
  }
};

/// Three levels, whose left part is almost empty. One transaction erases its last key, so the only
/// leaf on the right replaces the root, across two levels. The other transaction splits that leaf.
template <class H, bool kPromote>
struct CollapseBesideSplit {
  using Structure = BPlusTree<H, int64_t, int64_t, kPromote>;
  static constexpr const char* kName = "bplus_tree.collapse_beside_split";
  static void fill(Structure& s) {
    for (int64_t key = 1; key <= 255; ++key) {  // 16 full leaves on the left, one on the right
      s.insert(key, 0);
    }
    for (int64_t key = 2; key <= 240; ++key) {
      s.erase(key);
    }
  }
  static void first(Structure& s) { s.erase(1); }
  static void second(Structure& s) { s.insert(256, 0); }
  static Status judge(const Structure& s) {
    return s.contains(256) && s.size() == 16 ? Status() : Status(Code::corrupt, "256 is lost");
  }
};

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
void expect_skew_without_promotion(const std::vector<uintptr_t>& granularities = {1, 64}) {
  for (const uintptr_t granularity : granularities) {
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
TEST(StructuresScenariosTest, ChainMoveBesidePut) {
  expect_skew_without_promotion<skew::ChainMoveBesidePut>();
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
TEST(StructuresScenariosTest, LeafSplitBesidePutToSet) {
  expect_skew_without_promotion<skew::LeafSplitBesidePutToSet>();
}
TEST(StructuresScenariosTest, MoveBesidePut) {
  expect_skew_without_promotion<skew::MoveBesidePut>();
}
TEST(StructuresScenariosTest, EraseOnBothSides) {
  expect_skew_without_promotion<EraseOnBothSides>({1});
}
TEST(StructuresScenariosTest, AppendBesideSameKey) {
  expect_skew_without_promotion<AppendBesideSameKey>({1});
}
TEST(StructuresScenariosTest, GrowthBesideInsert) {
  expect_skew_without_promotion<skew::GrowthBesideInsert>();
}

TEST(StructuresScenariosTest, FreeBesideInsert) {
  expect_skew_without_promotion<FreeBesideInsert>();
}
TEST(StructuresScenariosTest, FreeNeighbours) {
  expect_skew_without_promotion<FreeNeighbours>();
}
TEST(StructuresScenariosTest, CollapseBesideSplit) {
  expect_skew_without_promotion<CollapseBesideSplit>();
}

}  // namespace
}  // namespace holdfast::testing::scenarios_test
