// SPDX-License-Identifier: Apache-2.0
//
// Do linked-list and hash-table write the lines of one element, and do their checks notice each
// kind of damage? Runs on plain memory.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "holdfast/workloads/hash_table/hash_table.h"
#include "holdfast/workloads/linked_list/linked_list.h"
#include "holdfast/workloads/parts/insert_workload.h"
#include "tests/unit/workloads/counting_heap.h"

namespace holdfast::testing::insert_workloads_test {
namespace {

using Given = std::map<std::string, std::string>;

TEST(LinkedListFootprintTest, AnInsertWritesItsNodeAndTheFront) {
  CountingHeap heap;
  FrontList<CountingHeap> workload(
      heap, Parameters::make(linked_list_info(), {{"bytes", "112"}}).value());
  workload.set_up(1, 1).check();
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    CountingHeap::reset();
    workload.operation(0, random);
    ASSERT_EQ(CountingHeap::lines.size(), 3U);  // a node of 16 + 112 bytes, and the link to it
    ASSERT_EQ(CountingHeap::stores, 17U);
    ASSERT_LE(CountingHeap::loads, 4U) << "an insert does not walk through the list";
  }
}

/// A worker removes its own newest elements, and no initial one.
TEST(RemovesTest, AWorkerRemovesItsOwnElements) {
  CountingHeap heap;
  FrontList<CountingHeap> workload(
      heap, Parameters::make(linked_list_info(), {{"size", "10"}, {"removes", "50"}}).value());
  workload.set_up(1, 1).check();
  Random random(1);
  int elements = 10;
  for (int i = 0; i < 2000; ++i) {
    const OperationResult result = workload.operation(0, random);
    ASSERT_EQ(result.response[0], 1U) << "each removal finds its element";
    elements += result.kind == InsertModel::kInsert ? 1 : -1;
    ASSERT_GE(elements, 10) << "initial elements stay";
  }
  int found = 0;
  workload.list_blocks([&](const void*, size_t bytes) { found += bytes == 576 ? 1 : 0; });
  EXPECT_EQ(found, elements);
  EXPECT_TRUE(workload.check().ok()) << workload.check().to_string();
}

class LinkedListDamageTest : public ::testing::Test {
 protected:
  using Root = FrontListRoot<PlainHeap>;

  LinkedListDamageTest()
      : workload_(heap_,
                  Parameters::make(linked_list_info(), {{"size", "10"}, {"bytes", "24"}}).value()) {
    workload_.set_up(2, 1).check();
    root_ = heap_.find_root<Root>("linked-list").value();
    Random random(1);
    for (int i = 0; i < 20; ++i) {
      workload_.operation(i % 2, random);
    }
    for (Root::Node* node = root_->front; node != nullptr; node = node->next) {
      nodes_.push_back(node);
    }
    EXPECT_EQ(nodes_.size(), 30U);
    EXPECT_TRUE(workload_.check().ok()) << workload_.check().to_string();
  }

  void expect_noticed(const std::string& text) {
    const Status status = workload_.check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  PlainHeap heap_;
  FrontList<PlainHeap> workload_;
  Root* root_ = nullptr;
  std::vector<Root::Node*> nodes_;  ///< from the front
};

TEST_F(LinkedListDamageTest, ATornElementIsNoticed) {
  for (uint64_t w = 0; w < 3; ++w) {
    nodes_[4]->payload()[w] += 1;
    expect_noticed("a payload does not belong to its key");
    nodes_[4]->payload()[w] -= 1;
  }
  nodes_[4]->key += 1;
  expect_noticed("a payload does not belong to its key");
}

TEST_F(LinkedListDamageTest, AMissingElementIsNoticed) {
  nodes_[3]->next = nodes_[5];
  expect_noticed("there are 9 of 10 elements of worker 1");
}

TEST_F(LinkedListDamageTest, AMissingInitialElementIsNoticed) {
  nodes_[28]->next = nullptr;
  expect_noticed("there are 9 of 10 elements of worker 0, run 0");
}

TEST_F(LinkedListDamageTest, ElementsOutOfOrderAreNoticed) {
  nodes_[4]->next = nodes_[6];
  nodes_[6]->next = nodes_[7];
  nodes_[7]->next = nodes_[5];
  nodes_[5]->next = nodes_[8];
  expect_noticed("an element is before a newer one");
}

TEST_F(LinkedListDamageTest, ACycleIsNoticed) {
  nodes_[29]->next = nodes_[25];
  expect_noticed("an element is before a newer one");
}

TEST_F(LinkedListDamageTest, AnElementOfNoWorkerIsNoticed) {
  heap_.update([&] { root_->insert(InsertKey{7, 2, 0}.key(), 0); }).check();
  expect_noticed("a key or its value is wrong");
}

/// The buckets, the entries and the payload of an insert.
TEST(HashTableFootprintTest, AnInsertWritesItsBucketItsEntryAndItsPayload) {
  CountingHeap heap;
  const Parameters given =
      Parameters::make(hash_table_info(), {{"bytes", "128"}, {"size", "100"}}).value();
  auto workload = HashTableWorkload::make<Parts::whole>(heap, given);
  workload->set_up(1, 1).check();
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    CountingHeap::reset();
    workload->operation(0, random);
    ASSERT_EQ(CountingHeap::lines.size(), 4U);
    ASSERT_EQ(CountingHeap::stores, 1U + 3U + 16U);
  }
}

class HashTableDamageTest : public ::testing::TestWithParam<std::string> {
 protected:
  using Word = PlainHeap::Field<uint64_t>;

  HashTableDamageTest()
      : workload_(HashTableWorkload::make<Parts::whole>(
            heap_, Parameters::make(hash_table_info(),
                                    {{"structure", GetParam()}, {"size", "20"}, {"bytes", "24"}})
                       .value())) {
    workload_->set_up(2, 1).check();
    Random random(1);
    for (int i = 0; i < 20; ++i) {
      const Request request = workload_->draw(i % 2, random);
      EXPECT_EQ(workload_->perform(i % 2, request).response[0], 1U);
      EXPECT_EQ(workload_->perform(i % 2, request).response[0], 0U) << "the key exists";
      keys_.push_back(request.argument[0]);
    }
    EXPECT_TRUE(workload_->check().ok()) << workload_->check().to_string();
    EXPECT_EQ(workload_->observe().value().size(), 80U);
  }

  /// Calls f(map) with the map of the root.
  template <class F>
  void with_map(F&& f) {
    const auto change = [&](auto* root) { heap_.update([&] { f(root->map); }).check(); };
    GetParam() == kHashTables[0]
        ? change(heap_
                     .find_root<HashTableRoot<PlainHeap, FixedHashMap<PlainHeap, uint64_t, Word*>>>(
                         "hash-table")
                     .value())
        : change(heap_
                     .find_root<HashTableRoot<PlainHeap, HashMap<PlainHeap, uint64_t, Word*>>>(
                         "hash-table")
                     .value());
  }
  void expect_noticed(const std::string& text) {
    const Status status = workload_->check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  PlainHeap heap_;
  std::unique_ptr<WorkloadInstance> workload_;
  std::vector<uint64_t> keys_;
};

TEST_P(HashTableDamageTest, EachWrongWordOfAPayloadIsNoticed) {
  for (int w = 0; w < 3; ++w) {
    with_map([&](auto& map) { map.find(keys_[3]).value()[w] += 1; });
    expect_noticed("a payload does not belong to its key");
    with_map([&](auto& map) { map.find(keys_[3]).value()[w] -= 1; });
  }
  EXPECT_TRUE(workload_->check().ok());
}

TEST_P(HashTableDamageTest, TwoPayloadsThatChangedPlacesAreNoticed) {
  with_map([&](auto& map) {
    Word* const one = map.find(keys_[3]).value();
    map.put(keys_[3], map.find(keys_[4]).value());
    map.put(keys_[4], one);
  });
  expect_noticed("a payload does not belong to its key");
}

TEST_P(HashTableDamageTest, AMissingElementIsNoticed) {
  with_map([&](auto& map) { map.erase(keys_[3]); });
  expect_noticed("there are 9 of 10 elements of worker 1");
}

INSTANTIATE_TEST_SUITE_P(Structures, HashTableDamageTest,
                         ::testing::Values(kHashTables[0], kHashTables[1]),
                         [](const auto& test) { return test.param; });

TEST(InsertWorkloadsTest, NonsenseIsRefused) {
  PlainHeap heap;
  for (const Given& wrong :
       {Given{{"size", "-1"}}, Given{{"bytes", "0"}}, Given{{"bytes", "12"}}}) {
    EXPECT_THROW(FrontList<PlainHeap>(heap, Parameters::make(linked_list_info(), wrong).value()),
                 Error);
    EXPECT_THROW(HashTableWorkload::make<Parts::whole>(
                     heap, Parameters::make(hash_table_info(), wrong).value()),
                 Error);
  }
  const Given no_buckets = {{"buckets", "0"}};
  EXPECT_THROW(HashTableWorkload::make<Parts::whole>(
                   heap, Parameters::make(hash_table_info(), no_buckets).value()),
               Error);
}

}  // namespace
}  // namespace holdfast::testing::insert_workloads_test
