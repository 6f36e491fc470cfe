// SPDX-License-Identifier: Apache-2.0
//
// Does ycsb run the mixes of YCSB, and write the lines of a value? Does its check notice damage?
#include "holdfast/workloads/ycsb/ycsb.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>

#include "tests/unit/workloads/counting_heap.h"

namespace holdfast::testing::ycsb_test {
namespace {

using Given = std::map<std::string, std::string>;

Parameters parameters(const Given& given) {
  return Parameters::make(ycsb_info(), given).value();
}

/// Values of several sizes, as Hercules varies them: an update writes the value and nothing else.
TEST(YcsbFootprintTest, AnUpdateWritesAValue) {
  for (const auto& [bytes, lines] :
       std::map<std::string, size_t>{{"8", 1}, {"64", 1}, {"1000", 16}, {"4096", 64}}) {
    CountingHeap heap;
    Ycsb<CountingHeap> workload(
        heap, parameters({{"records", "50"}, {"bytes", bytes}, {"mix", "update:1"}}));
    workload.set_up(1, 1).check();
    Random random(2);
    for (int i = 0; i < 100; ++i) {
      CountingHeap::reset();
      workload.operation(0, random);
      ASSERT_EQ(CountingHeap::lines.size(), lines) << bytes << " bytes, seed 2";
    }
  }
}

/// Source: the files workloada to workloadf of YCSB. Read, update, insert, scan, rmw, in per cent.
TEST(YcsbMixTest, TheLettersAreTheCoreWorkloads) {
  const std::map<std::string, std::array<int, YcsbModel::kKinds>> letters = {
      {"a", {50, 50, 0, 0, 0}}, {"b", {95, 5, 0, 0, 0}}, {"c", {100, 0, 0, 0, 0}},
      {"d", {95, 0, 5, 0, 0}},  {"e", {0, 0, 5, 95, 0}}, {"f", {50, 0, 0, 0, 50}}};
  for (const auto& [letter, shares] : letters) {
    PlainHeap heap;
    Ycsb<PlainHeap> workload(heap,
                             parameters({{"records", "20"}, {"bytes", "8"}, {"mix", letter}}));
    workload.set_up(1, 1).check();
    Random random(4);
    std::array<int, YcsbModel::kKinds> counts{};
    for (int i = 0; i < 4000; ++i) {
      ++counts[static_cast<size_t>(workload.draw(0, random).kind)];
    }
    for (size_t kind = 0; kind < counts.size(); ++kind) {
      EXPECT_NEAR(counts[kind], 40 * shares[kind], shares[kind] % 100 == 0 ? 0 : 160)  // 5 sigma
          << letter << ", " << ycsb_info().operations[kind] << ", seed 4";
    }
  }
}

/// A history without scans is judged key by key.
TEST(YcsbMixTest, OnlyScansConcernSeveralKeys) {
  PlainHeap heap;
  for (const char* letter : {"a", "b", "c", "d", "e", "f"}) {
    const Ycsb<PlainHeap> workload(heap, parameters({{"records", "5"}, {"mix", letter}}));
    EXPECT_EQ(workload.model()->independent_keys(), letter != std::string("e")) << letter;
  }
}

TEST(YcsbMixTest, OtherTextIsRefused) {
  for (const char* wrong : {"g", "A", "", "reads:1", "read", "read:0"}) {
    EXPECT_EQ(parse_ycsb_mix(wrong).status().code(), Code::invalid_argument) << wrong;
  }
  EXPECT_EQ(parse_ycsb_mix("read:1,scan:2").value().weights[YcsbModel::kScan], 2U);
}

TEST(YcsbTest, PopularKeysAreTheSameAllTheTime) {
  PlainHeap heap;
  Ycsb<PlainHeap> workload(heap, parameters({{"records", "1000"}, {"bytes", "8"}, {"mix", "c"}}));
  workload.set_up(1, 1).check();
  Random random(3);
  std::map<uint64_t, int> counts;
  for (int i = 0; i < 20000; ++i) {
    ++counts[workload.draw(0, random).argument[0]];
  }
  const int first = counts[mix64(0)];
  EXPECT_NEAR(first, 20000 * 0.129, 5 * 48) << "1 / sum of k^-0.99 up to 1000 is 0.129; seed 3";
  for (const auto& [key, count] : counts) {
    EXPECT_LE(count, first);
  }
}

/// Worker 1 of 2 has made 3 inserts of numbers 11, 13 and 15. Its reads go to 15 and before.
TEST(YcsbTest, WorkloadDReadsTheNewestKeys) {
  PlainHeap heap;
  const Given given = {{"records", "10"}, {"bytes", "8"}, {"mix", "d"}, {"skew", "0"}};
  Ycsb<PlainHeap> workload(heap, parameters(given));
  workload.set_up(2, 1).check();
  Random random(3);
  for (int inserts = 0; inserts < 3;) {
    inserts += workload.operation(1, random).kind == YcsbModel::kInsert ? 1 : 0;
  }
  const auto numbers_read = [&random](Ycsb<PlainHeap>& by) {
    std::set<uint64_t> numbers;
    for (Request request = by.draw(1, random);
         request.kind == YcsbModel::kRead || numbers.size() < 10; request = by.draw(1, random)) {
      if (request.kind == YcsbModel::kRead) {
        numbers.insert(InsertKey::unmix64(request.argument[0]));
      }
      if (request.kind == YcsbModel::kInsert) {
        break;
      }
    }
    return numbers;
  };
  Ycsb<PlainHeap> attached(heap, parameters(given));
  attached.attach().check();
  for (const uint64_t number : numbers_read(attached)) {
    EXPECT_TRUE(number >= 6 && number <= 15) << number;
  }
  Request insert;
  Ycsb<PlainHeap> again(heap, parameters(given));
  again.attach().check();
  do {
    insert = again.draw(1, random);
  } while (insert.kind != YcsbModel::kInsert);
  EXPECT_EQ(InsertKey::unmix64(insert.argument[0]), 17U) << "it goes on where the heap ends";
}

TEST(YcsbTest, NonsenseIsRefused) {
  PlainHeap heap;
  for (const Given& wrong : {Given{{"records", "0"}}, Given{{"bytes", "12"}}, Given{{"mix", "z"}},
                             Given{{"skew", "-1"}}, Given{{"scan", "0"}}, Given{{"ack", "2"}}}) {
    EXPECT_THROW(Ycsb<PlainHeap>(heap, parameters(wrong)), Error) << wrong.begin()->first;
  }
}

class YcsbDamageTest : public ::testing::Test {
 protected:
  YcsbDamageTest()
      : workload_(heap_, parameters({{"records", "10"},
                                     {"bytes", "24"},
                                     {"mix", "read:1,update:1,insert:1,scan:1,rmw:1"}})) {
    workload_.set_up(1, 1).check();
    Random random(1);
    for (int i = 0; i < 50; ++i) {
      workload_.operation(0, random);
    }
    EXPECT_TRUE(workload_.check().ok()) << workload_.check().to_string();
    map_ = &heap_.find_root<YcsbRoot<PlainHeap>>("ycsb").value()->map;
  }

  void expect_noticed(const std::string& text) {
    const Status status = workload_.check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }
  void erase(uint64_t number) {
    heap_.update([&] { map_->erase(mix64(number)); }).check();
  }

  PlainHeap heap_;
  Ycsb<PlainHeap> workload_;
  BPlusTree<PlainHeap, uint64_t, YcsbRoot<PlainHeap>::Value*>* map_ = nullptr;
};

TEST_F(YcsbDamageTest, ATornValueIsNoticedByChecksAndReads) {
  auto* const value = map_->find(mix64(3)).value();
  for (int w = 0; w < 3; ++w) {
    value[w] += 1;
    expect_noticed("is torn");
    EXPECT_EQ(workload_.observe().status().code(), Code::corrupt);
    EXPECT_THROW(workload_.perform(0, {YcsbModel::kRead, {mix64(3)}}), Error);
    EXPECT_THROW(workload_.perform(0, {YcsbModel::kScan, {0, 100}}), Error);
    EXPECT_THROW(workload_.perform(0, {YcsbModel::kRmw, {mix64(3), 1}}), Error);
    EXPECT_NO_THROW(workload_.perform(0, {YcsbModel::kRead, {mix64(4)}}));
    value[w] -= 1;
  }
  EXPECT_TRUE(workload_.check().ok());
}

TEST_F(YcsbDamageTest, AKeyWithoutItsValueIsNoticed) {
  heap_.update([&] { map_->put(mix64(3), nullptr); }).check();
  expect_noticed("is torn");
}

TEST_F(YcsbDamageTest, MissingKeysAreNoticed) {
  erase(3);
  expect_noticed("there are 9 of 10 initial keys");
}

TEST_F(YcsbDamageTest, AMissingInsertIsNoticed) {
  erase(10);
  expect_noticed("keys of worker 0");
}

}  // namespace
}  // namespace holdfast::testing::ycsb_test
