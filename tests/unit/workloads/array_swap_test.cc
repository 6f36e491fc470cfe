// SPDX-License-Identifier: Apache-2.0
//
// Does array-swap write the lines that the paper counts? Does its check notice each kind of damage?
#include "holdfast/workloads/array_swap/array_swap.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/unit/workloads/counting_heap.h"

namespace holdfast::testing::array_swap_test {
namespace {

using Given = std::map<std::string, std::string>;

Parameters parameters(const Given& given) {
  return Parameters::make(array_swap_info(), given).value();
}

/// Source: Hercules, table 4: 8.0 lines per transaction of Array Swap.
TEST(ArraySwapFootprintTest, ATransactionWritesEightLines) {
  CountingHeap heap;
  ArraySwap<CountingHeap> workload(heap, parameters({{"entries", "50"}}));
  workload.set_up(1, 1).check();
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    CountingHeap::reset();
    workload.operation(0, random);
    ASSERT_EQ(CountingHeap::lines.size(), 8U) << "seed 2, transaction " << i;
    ASSERT_EQ(CountingHeap::loads, 64U);
    ASSERT_EQ(CountingHeap::stores, 64U);
  }
}

TEST(ArraySwapFootprintTest, ElementsBeginLines) {
  for (const auto& [bytes, lines] : std::map<std::string, size_t>{{"8", 2}, {"64", 2}, {"72", 4}}) {
    CountingHeap heap;
    ArraySwap<CountingHeap> workload(heap, parameters({{"entries", "5"}, {"bytes", bytes}}));
    workload.set_up(1, 1).check();
    Random random(3);
    for (int i = 0; i < 20; ++i) {
      CountingHeap::reset();
      workload.operation(0, random);
      ASSERT_EQ(CountingHeap::lines.size(), lines) << bytes << " bytes, seed 3";
    }
  }
}

TEST(ArraySwapTest, AllPairsOfDifferentPlacesAreDrawn) {
  PlainHeap heap;
  ArraySwap<PlainHeap> workload(heap, parameters({{"entries", "3"}, {"bytes", "8"}}));
  workload.set_up(1, 1).check();
  Random random(4);
  std::map<std::pair<uint64_t, uint64_t>, int> pairs;
  for (int i = 0; i < 6000; ++i) {
    const Request request = workload.draw(0, random);
    ASSERT_NE(request.argument[0], request.argument[1]);
    ++pairs[{request.argument[0], request.argument[1]}];
  }
  ASSERT_EQ(pairs.size(), 6U);
  for (const auto& [pair, count] : pairs) {
    EXPECT_NEAR(count, 1000, 150) << pair.first << ", " << pair.second << "; seed 4";  // 5 sigma
  }
}

TEST(ArraySwapTest, AHeapKeepsItsShape) {
  PlainHeap heap;
  ArraySwap<PlainHeap>(heap, parameters({{"entries", "7"}, {"bytes", "24"}})).set_up(1, 1).check();
  ArraySwap<PlainHeap> other(heap, parameters({{"entries", "9"}, {"bytes", "80"}}));
  other.attach().check();
  EXPECT_EQ(other.observe().value(), (ModelState{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(other.check().ok());
}

TEST(ArraySwapTest, NonsenseIsRefused) {
  PlainHeap heap;
  for (const Given& wrong : {Given{{"entries", "1"}}, Given{{"bytes", "0"}}, Given{{"bytes", "12"}},
                             Given{{"bytes", "1048584"}}, Given{{"ack", "2"}}}) {
    EXPECT_THROW(ArraySwap<PlainHeap>(heap, parameters(wrong)), Error) << wrong.begin()->first;
  }
}

class ArraySwapDamageTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kWords = 9;

  ArraySwapDamageTest() : workload_(heap_, parameters({{"entries", "20"}, {"bytes", "72"}})) {
    workload_.set_up(1, 1).check();
    Random random(5);
    for (int i = 0; i < 50; ++i) {
      workload_.operation(0, random);
    }
    EXPECT_TRUE(workload_.check().ok());
    view_ = heap_.find_root<ArraySwapRoot<PlainHeap>>("array-swap").value()->array.view();
  }

  void expect_noticed(const std::string& text) {
    const Status status = workload_.check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  PlainHeap heap_;
  ArraySwap<PlainHeap> workload_;
  ElementArray<PlainHeap>::View view_;
};

TEST_F(ArraySwapDamageTest, ATornElementIsNoticedAtEachWord) {
  for (uint64_t w = 1; w < kWords; ++w) {
    const uint64_t before = view_.element(3)[w];
    view_.element(3)[w] = view_.element(4)[w].load();
    expect_noticed("place 3 is torn: its word " + std::to_string(w));
    EXPECT_EQ(workload_.observe().status().code(), Code::corrupt);
    view_.element(3)[w] = before;
  }
  EXPECT_TRUE(workload_.check().ok());
}

TEST_F(ArraySwapDamageTest, HalfASwapIsNoticed) {
  for (uint64_t w = 0; w < kWords; ++w) {
    view_.element(3)[w] = view_.element(4)[w].load();
  }
  expect_noticed("a second time");
}

TEST_F(ArraySwapDamageTest, AnElementThatDoesNotExistIsNoticed) {
  for (uint64_t w = 0; w < kWords; ++w) {
    view_.element(3)[w] = 20 * kWords + w;
  }
  expect_noticed("as no element does");
}

TEST_F(ArraySwapDamageTest, WordsInAnotherPlaceAreNoticed) {
  for (uint64_t w = 0; w < kWords; ++w) {
    view_.element(3)[w] = 1 + w;
  }
  expect_noticed("as no element does");
}

}  // namespace
}  // namespace holdfast::testing::array_swap_test
