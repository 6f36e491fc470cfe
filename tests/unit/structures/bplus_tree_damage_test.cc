// SPDX-License-Identifier: Apache-2.0
//
// Does a walk through a tree end whose leaves lead in a circle, and only there?
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "holdfast/structures/bplus_tree.h"
#include "tests/unit/heap/small_heap.h"

namespace holdfast::bplus_tree_damage_test {
namespace {

class BPlusTreeInHeap : public SmallHeap {
 protected:
  using Tree = BPlusTree<H, uint64_t, uint64_t>;

  BPlusTreeInHeap() {
    for (uint64_t key = 0; key < kKeys;) {
      heap_
          ->update([&] {
            for (const uint64_t end = key + 20; key < end; ++key) {
              tree_->insert(key, ~key);
            }
          })
          .check();
    }
  }

  Status walk(bool back) {
    keys_ = 0;
    const auto count = [&](uint64_t, uint64_t) {
      ++keys_;
      return true;
    };
    return heap_->read([&] { back ? tree_->for_each_back(count) : tree_->for_each(count); });
  }
  Status visit() {
    nodes_.clear();
    return heap_->read([&] {
      tree_->visit_blocks([&](const void* p, size_t) {
        nodes_.push_back(static_cast<std::byte*>(const_cast<void*>(p)));
      });
    });
  }

  /// A node as it lies in memory.
  struct Node {
    H::Field<uint64_t> order;
    H::Field<void*> link;  ///< to the first child, or the next leaf
    H::Field<uint64_t> key[SlotOrder::kSlots];
    H::Field<void*> payload[SlotOrder::kSlots];  ///< of an inner node: to the other children
  };
  void relink(std::byte* from, std::byte* to, bool all) {
    heap_
        ->update([&] {
          auto* const node = reinterpret_cast<Node*>(from);
          node->link = to;
          for (auto& child : node->payload) {
            if (all) {
              child = to;
            }
          }
        })
        .check();
  }

  static constexpr uint64_t kKeys = 6000;
  Tree* const tree_ = heap_->root<Tree>("tree").value();
  uint64_t keys_ = 0;
  std::vector<std::byte*> nodes_;  ///< of the last visit(), each before its children
};

TEST_F(BPlusTreeInHeap, WalksThroughManyLeaves) {
  EXPECT_TRUE(visit().ok());
  ASSERT_GT(nodes_.size(), 400u) << "more than a walk takes before it asks for the heap's size";
  for (const bool back : {false, true}) {
    EXPECT_TRUE(walk(back).ok());
    EXPECT_EQ(keys_, kKeys);
  }
  EXPECT_TRUE(heap_->read([&] { tree_->check().check(); }).ok());
}

TEST_F(BPlusTreeInHeap, EndsAWalkInACircleOfLeaves) {
  visit().check();
  relink(nodes_.back(), nodes_[nodes_.size() - 2], false);
  const Status status = walk(false);
  EXPECT_EQ(status.code(), Code::corrupt) << status.to_string();
  EXPECT_GT(keys_, kKeys);
}

/// A node with 15 children, each of which is that node again, leads to 2 * 15 * 15 * 15 leaves.
TEST_F(BPlusTreeInHeap, EndsAWalkThroughMoreLeavesThanFitIntoIt) {
  visit().check();
  relink(nodes_[0], nodes_[1], true);
  relink(nodes_[1], nodes_[1], true);
  heap_->update([&] { reinterpret_cast<H::Field<int64_t>*>(tree_)[1] = 4; }).check();  // its height
  const auto expect_corrupt = [](const Status& status) {
    EXPECT_EQ(status.code(), Code::corrupt) << status.to_string();
    EXPECT_NE(status.message().find("more leaves than fit into the heap"), std::string::npos)
        << status.to_string();
  };
  expect_corrupt(visit());
  EXPECT_GT(nodes_.size(), 256u);
  expect_corrupt(walk(true));
}

}  // namespace
}  // namespace holdfast::bplus_tree_damage_test
