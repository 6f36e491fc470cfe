// SPDX-License-Identifier: Apache-2.0
//
// Does hash-update access as many elements as it says, and does its check notice each kind of
// damage? Runs on plain memory.
#include "holdfast/workloads/hash_update/hash_update.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "holdfast/heap/plain_heap.h"

namespace holdfast::testing::hash_update_test {
namespace {

using Workload = HashUpdate<PlainHeap>;
using Root = HashUpdateRoot<PlainHeap>;

constexpr uint64_t kEntries = 1000;

Parameters parameters(const std::map<std::string, std::string>& given) {
  std::map<std::string, std::string> all = {{"entries", std::to_string(kEntries)}};
  for (const auto& [name, value] : given) {
    all[name] = value;
  }
  return Parameters::make(hash_update_info(), all).value();
}

TEST(HashUpdateBatchTest, AValueTellsItsTransaction) {
  Random random(1);
  for (const uint64_t accesses : {1, 2, 10, 63}) {
    for (uint64_t reads = 0; reads <= accesses; ++reads) {
      const HashBatch batch(random.next(), accesses, reads);
      EXPECT_EQ(batch.accesses(), accesses);
      EXPECT_EQ(batch.reads(), reads);
      uint64_t counted = 0;
      for (uint64_t k = 0; k < accesses; ++k) {
        const uint64_t value = batch.value(k);
        EXPECT_EQ(HashBatch::of(value), batch);
        EXPECT_EQ(HashBatch::access_of(value), k);
        EXPECT_EQ(HashBatch::stores(value, batch.element(k, kEntries), kEntries),
                  !batch.is_read(k));
        counted += batch.is_read(k) ? 1 : 0;
      }
      EXPECT_EQ(counted, reads) << accesses << " accesses";
    }
  }
}

TEST(HashUpdateBatchTest, ElementsAreSpreadEvenly) {
  constexpr uint64_t kBuckets = 64;
  constexpr int kBatches = 10000;
  std::vector<int> hits(kBuckets);
  Random random(2);
  for (int i = 0; i < kBatches; ++i) {
    const HashBatch batch(random.next(), 10, 0);
    for (uint64_t k = 0; k < 10; ++k) {
      ++hits[batch.element(k, kBuckets)];
    }
  }
  // The mean is 1562; the standard deviation of a uniform choice is 39.
  for (const int count : hits) {
    EXPECT_NEAR(count, 10.0 * kBatches / kBuckets, 200) << "seed 2";
  }
}

TEST(HashUpdateTest, ReadsAreThePercentageOfTheAccesses) {
  const std::map<std::string, uint64_t> reads_of = {{"0", 0},  {"10", 1}, {"50", 5},
                                                    {"84", 8}, {"90", 9}, {"100", 10}};
  for (const auto& [percent, reads] : reads_of) {
    PlainHeap heap;
    Workload workload(heap, parameters({{"reads", percent}}));
    workload.set_up(1, 1).check();
    Random random(3);
    const Request request = workload.draw(0, random);
    EXPECT_EQ(HashBatch::of(request.argument[0]).reads(), reads) << percent << " per cent";
    EXPECT_EQ(workload.perform(0, request).read_only, reads == 10);
  }
}

/// A workload with one transaction of four stores, at four different elements.
class HashUpdateDamageTest : public ::testing::Test {
 protected:
  HashUpdateDamageTest() : workload_(heap_, parameters({{"updates", "4"}})) {
    workload_.set_up(1, 1).check();
    root_ = heap_.find_root<Root>("hash-update").value();
    Random random(4);
    batch_ = HashBatch::of(workload_.draw(0, random).argument[0]);
    workload_.perform(0, {0, {batch_.value(0)}});
    std::set<uint64_t> elements;
    for (uint64_t k = 0; k < 4; ++k) {
      elements.insert(batch_.element(k, kEntries));
    }
    EXPECT_EQ(elements.size(), 4U) << "choose another seed";
    EXPECT_TRUE(workload_.check().ok());
  }

  void put(uint64_t element, uint64_t value) { root_->word.load()[element] = value; }
  void put(const HashBatch& batch, uint64_t k) { put(batch.element(k, kEntries), batch.value(k)); }
  void expect_noticed(const std::string& text) {
    const Status status = workload_.check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  PlainHeap heap_;
  Workload workload_;
  Root* root_ = nullptr;
  HashBatch batch_{0, 1, 0};
};

TEST_F(HashUpdateDamageTest, AMissingStoreIsNoticed) {
  put(batch_.element(2, kEntries), 0);
  expect_noticed("a transaction with other values");
}

TEST_F(HashUpdateDamageTest, AValueOfNoTransactionIsNoticed) {
  put(batch_.element(2, kEntries), 12345);
  expect_noticed("12345, which no transaction stores there");
}

TEST_F(HashUpdateDamageTest, AValueInAnotherElementIsNoticed) {
  put(batch_.element(1, kEntries) == 7 ? 8 : 7, batch_.value(1));
  expect_noticed("which no transaction stores there");
}

TEST_F(HashUpdateDamageTest, AValueOfAReadIsNoticed) {
  const HashBatch reader(5, 4, 1);
  for (uint64_t k = 0; k < 4; ++k) {
    put(reader, k);
  }
  expect_noticed("which no transaction stores there");
}

/// Two transactions with two elements in common: one of them is the later one at both.
TEST(HashUpdateOrderTest, TwoTransactionsThatOverwroteEachOtherAreNoticed) {
  constexpr uint64_t kFew = 4;
  PlainHeap heap;
  Workload workload(heap, parameters({{"entries", std::to_string(kFew)}, {"updates", "2"}}));
  workload.set_up(1, 1).check();
  const auto elements = [](const HashBatch& batch) {
    return std::set<uint64_t>{batch.element(0, kFew), batch.element(1, kFew)};
  };
  Random random(6);
  HashBatch one(random.next(), 2, 0);
  while (elements(one).size() < 2) {
    one = HashBatch(random.next(), 2, 0);
  }
  HashBatch two(random.next(), 2, 0);
  while (elements(two) != elements(one)) {
    two = HashBatch(random.next(), 2, 0);
  }
  workload.perform(0, {0, {one.value(0)}});
  workload.perform(0, {0, {two.value(0)}});
  EXPECT_TRUE(workload.check().ok()) << workload.check().to_string();
  auto* root = heap.find_root<Root>("hash-update").value();
  root->word.load()[one.element(0, kFew)] = one.value(0);
  EXPECT_EQ(workload.check().code(), Code::corrupt);
}

/// Two accesses of one transaction to one element: the second one remains.
TEST(HashUpdateOrderTest, TheEarlierOfTwoStoresIsNoticed) {
  PlainHeap heap;
  Workload workload(heap, parameters({{"entries", "1"}, {"updates", "2"}}));
  workload.set_up(1, 1).check();
  const HashBatch batch(7, 2, 0);
  workload.perform(0, {0, {batch.value(0)}});
  EXPECT_TRUE(workload.check().ok());
  heap.find_root<Root>("hash-update").value()->word.load()[0] = batch.value(0);
  EXPECT_EQ(workload.check().code(), Code::corrupt);
}

TEST(HashUpdateTest, NonsenseIsRefused) {
  PlainHeap heap;
  EXPECT_THROW(Workload(heap, parameters({{"updates", "64"}})), Error);
  EXPECT_THROW(Workload(heap, parameters({{"updates", "0"}})), Error);
  EXPECT_THROW(Workload(heap, parameters({{"reads", "101"}})), Error);
  EXPECT_THROW(Workload(heap, parameters({{"entries", "0"}})), Error);
}

}  // namespace
}  // namespace holdfast::testing::hash_update_test
