// SPDX-License-Identifier: Apache-2.0
//
// Does every structure behave like its model, keep its invariants, and leak nothing? Runs on plain
// memory.
#include "tests/unit/structures/model.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace holdfast::testing::model_test {
namespace {

template <class Kind>
class StructuresTest : public ::testing::Test {
 public:
  using S = typename Kind::template Type<PlainHeap>;

 protected:
  StructuresTest() : s_(heap_.root<S>("s").value()) {}

  uint64_t value(int64_t key, uint64_t salt) const {
    return Kind::kStoresValues ? mix64(static_cast<uint64_t>(key) ^ salt)
                               : ListAsMap<PlainHeap>::value_of(key);
  }
  /// Each function takes a step on structure and model, which must give the same answer.
  void insert(int64_t key, uint64_t salt = 0) {
    const uint64_t v = value(key, salt);
    const bool done = heap_.update([&] { return s_->insert(key, v); }).value();
    ASSERT_EQ(done, model_.emplace(key, v).second) << "insert " << key;
  }
  void put(int64_t key, uint64_t salt) {
    const uint64_t v = value(key, salt);
    const bool done = heap_.update([&] { return s_->put(key, v); }).value();
    ASSERT_EQ(done, model_.insert_or_assign(key, v).second) << "put " << key;
  }
  void erase(int64_t key) {
    const bool done = heap_.update([&] { return s_->erase(key); }).value();
    ASSERT_EQ(done, model_.erase(key) == 1) << "erase " << key;
  }
  void find(int64_t key) {
    const auto found = s_->find(key);
    const auto at = model_.find(key);
    ASSERT_EQ(found.has_value(), at != model_.end()) << "find " << key;
    if (found.has_value()) {
      ASSERT_EQ(*found, at->second) << "find " << key;
    }
  }
  ::testing::AssertionResult same() const {
    return testing::same<Kind>(*s_, model_, heap_.live_blocks(), 1);
  }

  PlainHeap heap_;
  S* s_;
  Model model_;
};

using Kinds = ::testing::Types<RbTreeKind, ParentRbTreeKind, BPlusTreeKind, DenseBPlusTreeKind,
                               HashMapKind, FixedHashMapKind, LinkedListKind>;
TYPED_TEST_SUITE(StructuresTest, Kinds);

TYPED_TEST(StructuresTest, StartsEmpty) {
  EXPECT_TRUE(this->same());
  this->find(0);
  this->erase(0);
}

TYPED_TEST(StructuresTest, RandomOperationsMatchTheModel) {
  for (const uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const int64_t range = std::min<int64_t>(TypeParam::kLarge, 30) << (seed * 3 / 2);
    for (int i = 0; i < 8000; ++i) {
      // Grows and shrinks by turns, so that erases meet every shape.
      const bool growing = i / 1500 % 2 == 0;
      const auto key = static_cast<int64_t>(random.below(static_cast<uint64_t>(range))) - range / 2;
      const uint64_t dice = random.below(10);
      if (dice < (growing ? 5U : 2U)) {
        this->insert(key, seed);
      } else if (dice < 7) {
        this->erase(key);
      } else if (dice < 8) {
        this->put(key, random.next());
      } else {
        this->find(key);
      }
      if (i % 400 == 0) {
        ASSERT_TRUE(this->same()) << "step " << i;
      }
      if (::testing::Test::HasFatalFailure()) {
        return;
      }
    }
    ASSERT_TRUE(this->same());
  }
}

TYPED_TEST(StructuresTest, LargeAscendingDescendingAndShuffled) {
  const int64_t n = TypeParam::kLarge;
  std::vector<int64_t> keys(static_cast<size_t>(n));
  std::iota(keys.begin(), keys.end(), 0);
  Random random(42);
  for (int order = 0; order < 3; ++order) {
    SCOPED_TRACE(::testing::Message() << "order " << order << ", seed 42");
    for (const int64_t key : keys) {
      this->insert(key);
    }
    ASSERT_TRUE(this->same());
    for (int64_t key = -1; key <= n; key += 7) {
      this->find(key);
    }
    // Erases everything: in the order of insertion, backwards, and shuffled.
    if (order == 1) {
      std::reverse(keys.begin(), keys.end());
    }
    for (size_t i = keys.size() - 1; order == 2 && i > 0; --i) {
      std::swap(keys[i], keys[random.below(i + 1)]);
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      this->erase(keys[i]);
      if (i == keys.size() / 2 || i == keys.size() - 3) {
        ASSERT_TRUE(this->same()) << "after " << i;
      }
    }
    ASSERT_TRUE(this->same());
    std::reverse(keys.begin(), keys.end());
  }
}

TYPED_TEST(StructuresTest, ExtremeKeysAndDuplicates) {
  const int64_t extremes[] = {std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max(), 0, -1, 1};
  for (const int64_t key : extremes) {
    this->insert(key, 1);
    this->insert(key, 2);  // refused; the value stays
    this->find(key);
  }
  for (int64_t key = -40; key < 40; ++key) {
    this->insert(key, 3);
  }
  ASSERT_TRUE(this->same());
  for (const int64_t key : extremes) {
    this->put(key, 4);
    this->find(key);
    this->erase(key);
    this->erase(key);
    this->find(key);
  }
  EXPECT_TRUE(this->same());
}

TYPED_TEST(StructuresTest, ClearLeavesAnEmptyStructureThatWorks) {
  for (int64_t key = 0; key < 1000; ++key) {
    this->insert(key);
  }
  this->heap_.update([&] { this->s_->clear(); }).check();
  this->model_.clear();
  EXPECT_TRUE(this->same());
  for (int64_t key = 500; key > 0; --key) {
    this->insert(key);
  }
  EXPECT_TRUE(this->same());
}

TYPED_TEST(StructuresTest, DisposeFreesEverything) {
  for (int64_t key = 0; key < 1000; ++key) {
    this->insert(key * 3);
  }
  this->heap_
      .update([&] {
        this->s_->dispose();
        PlainHeap::destroy(this->s_);
      })
      .check();
  EXPECT_EQ(this->heap_.live_blocks(), 0U);
  EXPECT_EQ(this->heap_.live_bytes(), 0U);
}

TYPED_TEST(StructuresTest, ForEachStopsWhenTold) {
  for (int64_t key = 0; key < 100; ++key) {
    this->insert(key);
  }
  int calls = 0;
  this->s_->for_each([&](int64_t, uint64_t) { return ++calls < 5; });
  EXPECT_EQ(calls, 5);
}

}  // namespace
}  // namespace holdfast::testing::model_test
