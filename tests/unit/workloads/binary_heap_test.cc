// SPDX-License-Identifier: Apache-2.0
//
// Does binary-heap behave like a priority queue, and does its check notice each kind of damage?
#include "holdfast/workloads/binary_heap/binary_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <queue>
#include <string>
#include <vector>

#include "tests/unit/workloads/counting_heap.h"

namespace holdfast::testing::binary_heap_test {
namespace {

using Given = std::map<std::string, std::string>;
using Workload = BinaryHeap<PlainHeap>;
using Root = BinaryHeapRoot<PlainHeap>;

Parameters parameters(const Given& given) {
  return Parameters::make(binary_heap_info(), given).value();
}

TEST(BinaryHeapTest, ItIsAPriorityQueue) {
  PlainHeap heap;
  Workload workload(heap, parameters({{"size", "0"}, {"capacity", "30"}, {"bytes", "24"}}));
  workload.set_up(1, 1).check();
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> queue;
  Random random(1);
  int full = 0;
  int empty = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool insert = random.chance(i / 100 % 2 == 0 ? 0.8 : 0.2);
    if (insert) {
      const uint64_t key = random.below(50);  // some keys are equal
      const bool room = queue.size() < 30;
      full += room ? 0 : 1;
      ASSERT_EQ(workload.perform(0, {BinaryHeapModel::kInsert, {key}}).response[0], room);
      if (room) {
        queue.push(key);
      }
    } else {
      const Response answer = workload.perform(0, {BinaryHeapModel::kRemoveMin, {}}).response;
      ASSERT_EQ(answer[1], !queue.empty()) << "seed 1, operation " << i;
      empty += queue.empty() ? 1 : 0;
      if (!queue.empty()) {
        ASSERT_EQ(answer[0], queue.top()) << "seed 1, operation " << i;
        queue.pop();
      }
    }
    ASSERT_TRUE(workload.check().ok()) << workload.check().to_string();
  }
  EXPECT_GT(full, 100);
  EXPECT_GT(empty, 100);
}

/// An insert stores the size, the sum, the entry, and the entries that it moves down: about 1.6 of
/// 2 words each, because half of the parents have greater keys.
TEST(BinaryHeapFootprintTest, AnInsertWritesAFewLines) {
  constexpr int kInserts = 5000;
  CountingHeap heap;
  BinaryHeap<CountingHeap> workload(heap, parameters({{"size", "10000"}, {"inserts", "100"}}));
  workload.set_up(1, 1).check();
  Random random(1);
  size_t lines = 0;
  CountingHeap::reset();
  for (int i = 0; i < kInserts; ++i) {
    CountingHeap::lines.clear();
    workload.operation(0, random);
    lines += CountingHeap::lines.size();
    ASSERT_LE(CountingHeap::lines.size(), 15U) << "one line for each level";
  }
  EXPECT_GE(lines, 2U * kInserts);
  EXPECT_LT(lines, 4U * kInserts);
  EXPECT_NEAR(static_cast<double>(CountingHeap::stores) / kInserts, 4 + 2 * 1.6, 1) << "seed 1";
}

TEST(BinaryHeapTest, NonsenseIsRefused) {
  PlainHeap heap;
  for (const Given& wrong :
       {Given{{"size", "-1"}}, Given{{"size", "5"}, {"capacity", "4"}}, Given{{"bytes", "0"}},
        Given{{"bytes", "20"}}, Given{{"inserts", "101"}}}) {
    EXPECT_THROW(Workload(heap, parameters(wrong)), Error);
  }
}

class BinaryHeapDamageTest : public ::testing::Test {
 protected:
  BinaryHeapDamageTest() : workload_(heap_, parameters({{"size", "50"}, {"bytes", "32"}})) {
    workload_.set_up(1, 1).check();
    root_ = heap_.find_root<Root>("binary-heap").value();
    Random random(1);
    for (int i = 0; i < 50; ++i) {
      workload_.operation(0, random);
    }
    EXPECT_TRUE(workload_.check().ok()) << workload_.check().to_string();
  }

  void expect_noticed(const std::string& text) {
    const Status status = workload_.check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
    EXPECT_EQ(workload_.observe().status().code(), Code::corrupt);
  }

  PlainHeap heap_;
  Workload workload_;
  Root* root_ = nullptr;
};

TEST_F(BinaryHeapDamageTest, EachWrongWordOfAPayloadIsNoticed) {
  for (int w = 1; w < 4; ++w) {
    root_->entries()[7][w] += 1;
    expect_noticed("the payload of entry 7");
    root_->entries()[7][w] -= 1;
  }
}

TEST_F(BinaryHeapDamageTest, KeysOutOfOrderAreNoticed) {
  const auto entry = root_->entries();
  for (int w = 0; w < 4; ++w) {
    std::swap(entry[1][w], entry[4][w]);
  }
  expect_noticed("is less than its parent's");
}

TEST_F(BinaryHeapDamageTest, AMovedEntryOfWhichTheOtherHalfIsMissingIsNoticed) {
  root_->entries().move(3, 7);
  expect_noticed("an entry is missing, or there twice");
}

TEST_F(BinaryHeapDamageTest, AMissingEntryIsNoticed) {
  root_->size -= 1;
  expect_noticed("an entry is missing, or there twice");
}

TEST_F(BinaryHeapDamageTest, AWrongSumIsNoticed) {
  root_->sum += 1;
  expect_noticed("an entry is missing, or there twice");
}

TEST_F(BinaryHeapDamageTest, AnImpossibleSizeIsNoticed) {
  root_->size = root_->capacity + 1;
  expect_noticed("its size is greater than its capacity");
}

}  // namespace
}  // namespace holdfast::testing::binary_heap_test
