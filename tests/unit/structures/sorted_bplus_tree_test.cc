// SPDX-License-Identifier: Apache-2.0
//
// Does the B+tree with sorted nodes behave like a map, keep its shape, and notice damage?
#include "holdfast/structures/sorted_bplus_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/heap/plain_heap.h"

namespace holdfast::testing::sorted_bplus_tree_test {
namespace {

using Tree = SortedBPlusTree<PlainHeap>;

/// A node on plain memory.
struct Node {
  uint64_t count;
  void* link;
  struct {
    uint64_t key;
    uint64_t payload;
  } entry[3];  ///< as many as fit into 64 bytes
};

class SortedBPlusTreeTest : public ::testing::Test {
 protected:
  void make(uint64_t node_bytes) {
    heap_.update([&] { tree_ = PlainHeap::make<Tree>(node_bytes); }).check();
  }
  bool insert(uint64_t key, uint64_t value) {
    return heap_.update([&] { return tree_->insert(key, value); }).value();
  }
  std::map<uint64_t, uint64_t> content() const {
    std::map<uint64_t, uint64_t> all;
    uint64_t before = 0;
    tree_->for_each([&](uint64_t key, uint64_t value) {
      EXPECT_TRUE(all.empty() || key > before);
      before = key;
      all.emplace(key, value);
      return true;
    });
    return all;
  }
  /// The nodes in the order of a walk from the root; each inner node before its children.
  std::vector<Node*> nodes() const {
    std::vector<Node*> all;
    const auto visit = [&](const void* node, size_t) {
      all.push_back(static_cast<Node*>(const_cast<void*>(node)));
    };
    tree_->visit_blocks(visit);
    return all;
  }
  void expect_noticed(const std::string& text) {
    const Status status = tree_->check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  PlainHeap heap_;
  Tree* tree_ = nullptr;
};

TEST_F(SortedBPlusTreeTest, ItIsAMap) {
  for (const uint64_t node_bytes : {64, 80, 96, 256, 4096}) {
    for (const int order : {-1, 0, 1}) {
      make(node_bytes);
      std::map<uint64_t, uint64_t> model;
      Random random(node_bytes);
      for (uint64_t i = 0; i < 2000; ++i) {
        const uint64_t key = order == 0 ? random.below(3000) : order < 0 ? 5000 - i : 5000 + i;
        const bool fresh = model.emplace(key, i).second;
        ASSERT_EQ(insert(key, i), fresh) << node_bytes << " bytes, operation " << i;
        if (i % 50 == 0 || i > 1980) {
          ASSERT_TRUE(tree_->check().ok()) << tree_->check().to_string();
          ASSERT_EQ(content(), model);
        }
      }
      for (const uint64_t edge : {uint64_t{0}, UINT64_MAX}) {
        ASSERT_EQ(tree_->find(edge).has_value(), model.contains(edge));
        model.emplace(edge, 7);
        insert(edge, 7);
      }
      for (uint64_t key = 0; key < 8000; ++key) {
        const auto found = model.find(key);
        ASSERT_EQ(tree_->find(key),
                  found == model.end() ? std::nullopt : std::optional<uint64_t>(found->second));
      }
      ASSERT_TRUE(tree_->check().ok()) << tree_->check().to_string();
      ASSERT_EQ(content(), model);
    }
  }
}

TEST_F(SortedBPlusTreeTest, AWalkEndsWhenItIsTold) {
  make(64);
  for (uint64_t i = 0; i < 50; ++i) {
    insert(i, i);
  }
  int seen = 0;
  tree_->for_each([&](uint64_t, uint64_t) { return ++seen < 20; });
  EXPECT_EQ(seen, 20);
}

TEST_F(SortedBPlusTreeTest, ItListsAllItsBlocks) {
  make(64);
  for (uint64_t i = 0; i < 500; ++i) {
    insert(mix64(i), i);
  }
  EXPECT_EQ(nodes().size() + 1, heap_.live_blocks());
}

class SortedBPlusTreeDamageTest : public SortedBPlusTreeTest {
 protected:
  SortedBPlusTreeDamageTest() {
    make(64);
    for (uint64_t i = 1; i <= 60; ++i) {
      insert(10 * i, i);
    }
    EXPECT_TRUE(tree_->check().ok());
  }
};

TEST_F(SortedBPlusTreeDamageTest, KeysOutOfOrderAreNoticed) {
  Node& leaf = *nodes().back();
  ASSERT_GE(leaf.count, 2U);
  std::swap(leaf.entry[0], leaf.entry[1]);
  expect_noticed("a key is out of order");
}

TEST_F(SortedBPlusTreeDamageTest, AKeyOutsideOfItsLeafIsNoticed) {
  nodes().back()->entry[0].key = 5;
  expect_noticed("a key is out of order");
}

TEST_F(SortedBPlusTreeDamageTest, AWrongKeyOfAnInnerNodeIsNoticed) {
  nodes().front()->entry[0].key += 1000;
  expect_noticed("a key is out of order");
}

TEST_F(SortedBPlusTreeDamageTest, AnImpossibleCountIsNoticed) {
  for (const uint64_t count : {0, 4}) {
    Node& leaf = *nodes().back();
    const uint64_t before = leaf.count;
    leaf.count = count;
    expect_noticed("a node's number of entries");
    leaf.count = before;
  }
}

TEST_F(SortedBPlusTreeDamageTest, AWrongChainOfLeavesIsNoticed) {
  nodes().back()->link = nodes().front();
  expect_noticed("the chain of leaves");
  nodes().back()->link = nullptr;
  ASSERT_TRUE(tree_->check().ok());
  for (Node* node : nodes()) {
    if (node->link == nodes().back()) {
      node->link = nullptr;
    }
  }
  expect_noticed("the chain of leaves");
}

}  // namespace
}  // namespace holdfast::testing::sorted_bplus_tree_test
