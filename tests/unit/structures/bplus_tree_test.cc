// SPDX-License-Identifier: Apache-2.0
//
// Do the B+tree's own features work: search by order, scans, leaves that come and go, the order
// word?
#include "holdfast/structures/bplus_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/heap/plain_heap.h"
#include "tests/present.h"

namespace holdfast::testing::bplus_tree_test {
namespace {

using Tree = BPlusTree<PlainHeap, uint64_t, uint64_t>;

TEST(StructuresSlotOrderTest, EmptyHoldsEverySlotOnce) {
  constexpr SlotOrder order;
  EXPECT_EQ(order.count(), 0);
  EXPECT_TRUE(order.valid());
  EXPECT_EQ(order.free_slot(), 0);
}

TEST(StructuresSlotOrderTest, BehavesLikeAVectorOfSlots) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    SlotOrder order;
    std::vector<int> model;
    for (int step = 0; step < 300; ++step) {
      const auto n = static_cast<uint64_t>(order.count());
      const uint64_t dice = random.below(8);
      if (dice == 0 && n > 0) {
        const uint64_t kept = random.below(n);
        order = order.truncated(static_cast<int>(kept));
        model.resize(kept);
      } else if ((dice < 4 && n > 0) || order.full()) {
        const auto position = static_cast<int>(random.below(n));
        order = order.removed(position);
        model.erase(model.begin() + position);
      } else {
        const auto position = static_cast<int>(random.below(n + 1));
        model.insert(model.begin() + position, order.free_slot());
        order = order.inserted(position);
      }
      ASSERT_TRUE(order.valid());
      ASSERT_EQ(static_cast<size_t>(order.count()), model.size());
      for (size_t i = 0; i < model.size(); ++i) {
        ASSERT_EQ(order.slot(static_cast<int>(i)), model[i]);
      }
    }
  }
}

class StructuresBPlusTreeTest : public ::testing::Test {
 protected:
  StructuresBPlusTreeTest() : tree_(heap_.root<Tree>("tree").value()) {}

  void insert(uint64_t key) {
    heap_.update([&] { tree_->insert(key, ~key); }).check();
    model_[key] = ~key;
  }
  void erase(uint64_t key) {
    heap_.update([&] { tree_->erase(key); }).check();
    model_.erase(key);
  }
  void expect_same_searches(uint64_t key) const {
    uint64_t found = 1;
    uint64_t value = 2;
    const auto at = model_.lower_bound(key);
    ASSERT_EQ(tree_->lower_bound(key, &found, &value), at != model_.end()) << key;
    if (at != model_.end()) {
      ASSERT_EQ(found, at->first);
      ASSERT_EQ(value, at->second);
    }
    ASSERT_EQ(tree_->last_before(key, &found, &value), at != model_.begin()) << key;
    if (at != model_.begin()) {
      ASSERT_EQ(found, std::prev(at)->first);
      ASSERT_EQ(value, std::prev(at)->second);
    }
  }
  size_t blocks() const {
    size_t n = 0;
    tree_->visit_blocks([&](const void*, size_t) { ++n; });
    return n;
  }

  PlainHeap heap_;
  Tree* tree_;
  std::map<uint64_t, uint64_t> model_;
};

TEST_F(StructuresBPlusTreeTest, SearchesMatchTheModel) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const uint64_t range = 40 * seed * seed * seed;
    for (int step = 0; step < 3000; ++step) {
      const uint64_t key = random.below(range);
      // The tree becomes sparse: erases leave thin and empty leaves.
      if (random.below(3000) > static_cast<uint64_t>(step)) {
        insert(key);
      } else {
        erase(key);
      }
      ASSERT_NO_FATAL_FAILURE(expect_same_searches(random.below(range + 2)));
    }
    ASSERT_TRUE(tree_->check().ok()) << tree_->check().to_string();
    for (uint64_t key = 0; key < range + 2; ++key) {
      ASSERT_NO_FATAL_FAILURE(expect_same_searches(key));
    }
  }
}

TEST_F(StructuresBPlusTreeTest, SearchesAtTheEnds) {
  const uint64_t max = std::numeric_limits<uint64_t>::max();
  expect_same_searches(0);
  insert(0);
  insert(max);
  for (const uint64_t key : {uint64_t{0}, uint64_t{1}, max - 1, max}) {
    expect_same_searches(key);
  }
  EXPECT_TRUE(tree_->lower_bound(5, nullptr, nullptr));
  EXPECT_TRUE(tree_->last_before(5, nullptr, nullptr));
}

TEST_F(StructuresBPlusTreeTest, ScansFromAnyKeyUntilTold) {
  for (uint64_t key = 0; key < 500; ++key) {
    insert(3 * key);
  }
  for (const uint64_t from : {0, 1, 44, 45, 46, 1497, 1498}) {
    std::vector<uint64_t> seen;
    tree_->scan(from, [&](uint64_t key, uint64_t value) {
      EXPECT_EQ(value, ~key);
      seen.push_back(key);
      return seen.size() < 40;
    });
    std::vector<uint64_t> expected;
    for (auto at = model_.lower_bound(from); at != model_.end() && expected.size() < 40; ++at) {
      expected.push_back(at->first);
    }
    EXPECT_EQ(seen, expected) << "from " << from;
  }
}

TEST_F(StructuresBPlusTreeTest, ScansBackwardsAndBeyond) {
  Random random(1);
  for (int i = 0; i < 700; ++i) {
    insert(3 * random.below(600));
  }
  for (int i = 0; i < 300; ++i) {
    erase(3 * random.below(600));  // leaves thin and empty leaves
  }
  for (uint64_t from = 0; from < 1800; from += 1 + random.below(4)) {
    const auto above = model_.upper_bound(from);
    std::vector<uint64_t> expected;
    for (auto at = above; at != model_.end(); ++at) {
      expected.push_back(~at->first);
    }
    std::vector<uint64_t> seen;
    const auto value_alone = [&](uint64_t value) {
      seen.push_back(value);
      return true;
    };
    tree_->scan(from, value_alone, true);
    ASSERT_EQ(seen, expected) << "beyond " << from;

    expected.clear();
    for (auto at = model_.lower_bound(from); at != model_.begin();) {
      expected.push_back((--at)->first);
    }
    seen.clear();
    tree_->scan_back(from, [&](uint64_t key, uint64_t value) {
      EXPECT_EQ(value, ~key);
      seen.push_back(key);
      return true;
    });
    ASSERT_EQ(seen, expected) << "back from " << from;
  }
  std::vector<uint64_t> all;
  tree_->for_each_back([&](uint64_t key, uint64_t /*value*/) {
    all.insert(all.begin(), key);
    return true;
  });
  ASSERT_EQ(all.size(), model_.size());
  EXPECT_TRUE(std::equal(all.begin(), all.end(), model_.begin(),
                         [](uint64_t key, const auto& entry) { return key == entry.first; }));
}

TEST_F(StructuresBPlusTreeTest, ScansLeafByLeaf) {
  Random random(3);
  for (int i = 0; i < 600; ++i) {
    insert(3 * random.below(600));
  }
  for (int i = 0; i < 300; ++i) {
    erase(3 * random.below(600));
  }
  size_t runs = 0;
  std::vector<uint64_t> seen;
  const auto gather = [&](const Tree::Run& run) {
    EXPECT_GT(run.size(), 0);
    EXPECT_LE(run.size(), SlotOrder::kSlots);
    for (int i = 0; i < run.size(); ++i) {
      seen.push_back(run.value(i));
    }
    ++runs;
    return true;
  };
  const auto expect_seen = [&](auto from, auto to) {
    std::vector<uint64_t> expected;
    std::transform(from, to, std::back_inserter(expected),
                   [](const auto& entry) { return entry.second; });
    EXPECT_EQ(std::exchange(seen, {}), expected);
  };
  for (uint64_t from = 0; from < 1810; from += 1 + random.below(4)) {
    tree_->scan(from, gather);
    expect_seen(model_.lower_bound(from), model_.end());
    tree_->scan(from, gather, true);
    expect_seen(model_.upper_bound(from), model_.end());
    tree_->scan_back(from, gather);
    expect_seen(std::make_reverse_iterator(model_.lower_bound(from)), model_.rend());
  }
  runs = 0;
  tree_->for_each_back(gather);
  expect_seen(model_.rbegin(), model_.rend());
  EXPECT_LT(runs, model_.size() / 2);

  size_t told = 0;
  tree_->for_each([&](const Tree::Run& run) {
    gather(run);
    return ++told < 3;
  });
  EXPECT_EQ(told, 3u);
  ASSERT_LT(seen.size(), model_.size());
  expect_seen(model_.begin(), std::next(model_.begin(), static_cast<int64_t>(seen.size())));
}

TEST_F(StructuresBPlusTreeTest, ScansNothingWhereThereIsNothing) {
  const auto never = [](uint64_t /*key*/, uint64_t /*value*/) {
    ADD_FAILURE();
    return true;
  };
  tree_->for_each_back(never);
  tree_->scan_back(7, never);
  tree_->scan(7, never, true);
  tree_->for_each([](const Tree::Run& /*run*/) {
    ADD_FAILURE();
    return true;
  });
}

TEST_F(StructuresBPlusTreeTest, AscendingKeysFillTheLeaves) {
  const uint64_t n = uint64_t{15} * 1000;
  for (uint64_t key = 0; key < n; ++key) {
    insert(key);
  }
  // 1,000 full leaves, and 67 + 5 + 1 nodes above them.
  EXPECT_LE(blocks(), 1000U + 80U);
  EXPECT_TRUE(tree_->check().ok());
}

TEST_F(StructuresBPlusTreeTest, AQueueDoesNotGrow) {
  // Inserts at the end and erases at the beginning: empty leaves and the nodes above them are
  // freed.
  size_t most = 0;
  for (uint64_t key = 0; key < 20000; ++key) {
    insert(key);
    if (key >= 100) {
      uint64_t oldest = 0;
      ASSERT_TRUE(tree_->lower_bound(0, &oldest, nullptr));
      ASSERT_EQ(oldest, key - 100);
      erase(oldest);
    }
    most = std::max(most, blocks());
  }
  EXPECT_TRUE(tree_->check().ok()) << tree_->check().to_string();
  EXPECT_LT(most, 20U);
  while (!model_.empty()) {
    erase(model_.begin()->first);
  }
  EXPECT_TRUE(tree_->empty());
  EXPECT_EQ(blocks(), 1U);
}

struct Record {
  uint64_t words[5];
};
struct Pair {
  uint32_t a;
  uint32_t b;
  bool operator<(const Pair& other) const { return a != other.a ? a < other.a : b < other.b; }
};

TEST(StructuresBPlusTreeTypesTest, WideValuesAndCompoundKeys) {
  PlainHeap heap;
  using Wide = BPlusTree<PlainHeap, Pair, Record>;
  auto* tree = heap.root<Wide>("wide").value();
  heap.update([&] {
        for (uint32_t i = 0; i < 1000; ++i) {
          tree->insert(Pair{i % 10, i / 10}, Record{{i, 1, 2, 3, 4}});
        }
      })
      .check();
  EXPECT_TRUE(tree->check().ok());
  EXPECT_EQ(tree->size(), 1000U);
  Pair found{};
  ASSERT_TRUE(tree->last_before(Pair{4, 0}, &found, nullptr));
  EXPECT_EQ(found.a, 3U);
  EXPECT_EQ(found.b, 99U);
  EXPECT_EQ(present(tree->find(Pair{7, 31})).words[0], 317U);
}

/// A key with a part that does not count in its order.
struct Labelled {
  uint64_t key;
  uint64_t label;
  bool operator<(const Labelled& other) const { return key < other.key; }
};

TEST(StructuresBPlusTreeTypesTest, ASetHoldsWholeKeys) {
  using Set = BPlusTree<PlainHeap, Labelled>;
  PlainHeap heap;
  auto* set = heap.root<Set>("set").value();
  Random random(1);
  std::map<uint64_t, uint64_t> model;
  heap.update([&] {
        for (uint64_t step = 0; step < 5000; ++step) {
          const uint64_t key = random.below(700);
          if (random.below(3) == 0) {
            ASSERT_EQ(set->erase({key, 0}), model.erase(key) == 1);
          } else {
            ASSERT_EQ(set->put({key, 0}, {key, step}), model.insert_or_assign(key, step).second);
          }
        }
      })
      .check();
  ASSERT_TRUE(set->check().ok()) << set->check().to_string();
  auto at = model.begin();
  set->for_each([&](const Labelled& held) {
    EXPECT_NE(at, model.end());
    EXPECT_EQ(held.key, at->first);
    EXPECT_EQ(held.label, at->second);
    return ++at != model.end();
  });
  EXPECT_EQ(at, model.end());
  EXPECT_EQ(set->size(), model.size());
  EXPECT_EQ(present(set->find({model.begin()->first, 0})).label, model.begin()->second);
}

}  // namespace
}  // namespace holdfast::testing::bplus_tree_test
