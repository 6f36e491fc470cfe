// SPDX-License-Identifier: Apache-2.0
// Does software logging save each line once per transaction, and at the cost that its page says?
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "tests/unit/engines/swl/swl_heap.h"

namespace holdfast::swl_test {
namespace {

using swl_test::EadrHeap;
using swl_test::FlushHeap;
using swl_test::kLineEntry;
using swl_test::log_of;

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);
constexpr size_t kWordEntry = 16 + sizeof(uint64_t);

template <class H>
class SwlEngine : public testing::Test {};
using Both = testing::Types<FlushHeap, EadrHeap>;
TYPED_TEST_SUITE(SwlEngine, Both);

// ---- the filter

TYPED_TEST(SwlEngine, AFenceForTheFirstStoreToEachLine) {
  TypeParam heap;
  for (const size_t lines : {1u, 3u, 40u}) {
    const auto cost = heap.cost([&] {
      for (size_t i = 0; i < 2 * lines * kLineWords; ++i) {
        heap->set(i % (lines * kLineWords), i);
      }
    });
    EXPECT_EQ(cost.pfence, 1 + lines) << "entries, and the data before the commit";
    EXPECT_EQ(cost.psync, 1u);
  }
}

TYPED_TEST(SwlEngine, WordsAsUnitsHaveAnEntryEach) {
  TypeParam heap(Options{{"unit", "8"}});
  const Statistics before = heap->engine().statistics();
  const auto cost = heap.cost([&] {
    for (size_t i = 0; i < 30; ++i) {
      heap->set(i % 10, i);
    }
  });
  EXPECT_EQ(cost.pfence, 1u + 10);
  const Statistics now = heap->engine().statistics() - before;
  EXPECT_EQ(now.bytes_written, 30 * sizeof(uint64_t) + 10 * kWordEntry + sizeof(uint64_t));
}

TYPED_TEST(SwlEngine, ALongStoreHasOneFenceAndAnEntryPerLine) {
  TypeParam heap;
  const Statistics before = heap->engine().statistics();
  const std::vector<std::byte> block(5 * kLineBytes);
  const auto cost = heap.cost([&] {
    heap->set(2 * kLineWords, 1);  // saved already, in the middle
    std::remove_reference_t<decltype(heap->engine())>::store_range(heap->word(4), block.data(),
                                                                   block.size());
  });
  EXPECT_EQ(cost.pfence, 1u + 1 + 2) << "the lines before and behind the saved one";
  const Statistics now = heap->engine().statistics() - before;
  EXPECT_EQ(now.bytes_written, sizeof(uint64_t) + block.size() + 6 * kLineEntry + sizeof(uint64_t));
}

TYPED_TEST(SwlEngine, TheFilterForgetsTheLinesOfEarlierTransactions) {
  TypeParam heap;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(heap.cost([&] { heap->set(0, 1); }).pfence, 2u);
  }
  EXPECT_THROW(heap->engine().update([&] {
    heap->set(0, 2);
    throw 1;
  }),
               int);
  EXPECT_EQ(heap.cost([&] { heap->set(0, 1); }).pfence, 2u);
}

TYPED_TEST(SwlEngine, NewBlocksAreLoggedToo) {
  TypeParam heap;
  const auto cost = heap.cost([&] {
    std::remove_reference_t<decltype(heap->engine())>::fresh(heap->word(16), kLineBytes);
    heap->set(16, 1);
  });
  EXPECT_EQ(cost.pfence, 2u);
}

TYPED_TEST(SwlEngine, ReadersAndEmptyUpdatesPersistNothing) {
  TypeParam heap;
  const PersistCounters before = heap.machine().counters();
  heap->read(0);
  heap->engine().update([&] { static_cast<void>(heap->get(0)); });
  const PersistCounters cost = heap.machine().counters() - before;
  EXPECT_EQ(cost.pwb + cost.pfence + cost.psync, 0u);
}

TEST(SwlFlush, WritesBackEachChangedLineOnceAndItsEntry) {
  FlushHeap heap(log_of(64));
  const auto cost = heap.cost([&] {
    for (size_t i = 0; i < 4 * kLineWords; ++i) {
      heap->set(i, i);
    }
  });
  // Entries of 80 bytes at 0, 80, 160 and 240 meet two lines each.
  EXPECT_EQ(cost.pwb, 4u * 2 + 4 + 1) << "entries, changed lines, the state";
}

TEST(SwlFlush, WordsOfALineAreWrittenBackOnce) {
  FlushHeap heap(log_of(64, 8));
  const auto entries = heap.cost([&] { heap->set(0, 1); }).pwb;
  const auto cost = heap.cost([&] {
    for (size_t i = 0; i < kLineWords; ++i) {
      heap->set(i, i);
    }
  });
  EXPECT_LT(cost.pwb, kLineWords * (entries + 1)) << "one write-back of the line for each word";
  EXPECT_GE(cost.pwb, kLineWords + 2);
}

TEST(SwlEadr, WritesNothingBack) {
  EadrHeap heap;
  const std::vector<std::byte> block(1000);
  const auto cost = heap.cost([&] {
    heap->set(1000, 1);
    SwlEadr<SimMachine>::store_range(heap->word(3), block.data(), block.size());
  });
  EXPECT_EQ(cost.pwb + cost.nontemporal, 0u);
  EXPECT_EQ(cost.pfence + cost.psync, 4u);
}

TEST(SwlFilter, ForgetsWhenTheNumbersOfGenerationsComeBack) {
  SimMachine machine{SimOptions{}};
  swl::OffsetSet<SimMachine> set(machine);
  EXPECT_TRUE(set.add(64));
  EXPECT_FALSE(set.add(64));
  for (uint64_t i = 0; i + 1 < uint64_t{1} << WordPlace::kTagBits; ++i) {
    set.clear();
  }
  EXPECT_TRUE(set.add(64)) << "the slot has this offset, with the same number";
}

TEST(SwlFilter, HoldsAnyNumberOfOffsets) {
  SimMachine machine{SimOptions{}};
  swl::OffsetSet<SimMachine> set(machine);
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < 5000; ++i) {
      ASSERT_TRUE(set.add(i * 4096)) << i;
    }
    for (uint64_t i = 0; i < 5000; ++i) {
      ASSERT_FALSE(set.add(i * 4096)) << i;
    }
    set.clear();
  }
}

}  // namespace
}  // namespace holdfast::swl_test
