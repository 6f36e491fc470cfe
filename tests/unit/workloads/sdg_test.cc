// SPDX-License-Identifier: Apache-2.0
//
// Does sdg write the lines that the paper counts? Are its vertices sorted sets? Does its check
// notice each kind of damage?
#include "holdfast/workloads/sdg/sdg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/unit/workloads/counting_heap.h"

namespace holdfast::testing::sdg_test {
namespace {

using Given = std::map<std::string, std::string>;

Parameters parameters(const Given& given) {
  return Parameters::make(sdg_info(), given).value();
}

/// Source: Hercules, table 4: 33.8 lines on average, at least 22, at most 149. The lines of the
/// allocator, which this heap does not count, come on top where an array grows.
TEST(SdgFootprintTest, ATransactionWritesTwoRecordsAndItsPartOfTheEdges) {
  constexpr uint64_t kTransactions = 2000;
  CountingHeap heap;
  CountingHeap::counts_lines = false;
  Sdg<CountingHeap> workload(heap, parameters({}));
  workload.set_up(1, 1).check();
  CountingHeap::counts_lines = true;
  Random random(2);
  uint64_t sum = 0;
  size_t least = ~size_t{0};
  size_t most = 0;
  for (uint64_t i = 0; i < kTransactions; ++i) {
    CountingHeap::reset();
    workload.operation(0, random);
    sum += CountingHeap::lines.size();
    least = std::min(least, CountingHeap::lines.size());
    most = std::max(most, CountingHeap::lines.size());
  }
  EXPECT_NEAR(static_cast<double>(sum) / kTransactions, 33.8, 3.38);
  EXPECT_EQ(least, 22U) << "two records of 10 lines, and the two vertices";
  EXPECT_GT(most, 75U);
  EXPECT_LE(most, 149U);
}

TEST(SdgVertexTest, AVertexIsASortedSet) {
  PlainHeap heap;
  SdgVertex<PlainHeap> vertex;
  Random random(1);
  std::set<uint64_t> words;
  heap.update([&] {
        vertex.clear();
        for (int i = 0; i < 5000; ++i) {
          const uint64_t word = random.below(200);
          EXPECT_EQ(vertex.has(word), words.contains(word));
          if (words.insert(word).second) {
            vertex.insert(word);
          } else {
            vertex.erase(word);
            words.erase(word);
          }
          EXPECT_EQ(vertex.count, words.size());
          EXPECT_TRUE(std::equal(words.begin(), words.end(), vertex.edge.load(),
                                 [](uint64_t one, const auto& other) { return one == other; }));
        }
      })
      .check();
  EXPECT_EQ(vertex.room, 128U);
  EXPECT_EQ(heap.live_blocks(), 1U) << "replaced arrays are freed";
}

TEST(SdgTest, HalfOfTheEdgesAreThereAtTheStart) {
  PlainHeap heap;
  Sdg<PlainHeap> workload(heap, parameters({{"scale", "6"}, {"degree", "8"}}));
  workload.set_up(1, 1).check();
  const ModelState edges = workload.observe().value();
  ASSERT_EQ(edges.size(), 2U * 256);
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(edges[2 * i], 2 * i);
  }
}

/// The smallest graph: the generator gives few edges that do not lead back to their vertex.
TEST(SdgTest, EveryEdgeHasTwoEnds) {
  PlainHeap heap;
  Sdg<PlainHeap> workload(heap, parameters({{"scale", "1"}, {"degree", "20"}, {"bytes", "8"}}));
  workload.set_up(1, 1).check();
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    workload.operation(0, random);
    ASSERT_TRUE(workload.check().ok()) << workload.check().to_string();
  }
}

TEST(SdgTest, NonsenseIsRefused) {
  PlainHeap heap;
  for (const Given& wrong : {Given{{"scale", "0"}}, Given{{"scale", "21"}}, Given{{"degree", "0"}},
                             Given{{"bytes", "12"}}, Given{{"ack", "2"}}}) {
    EXPECT_THROW(Sdg<PlainHeap>(heap, parameters(wrong)), Error) << wrong.begin()->first;
  }
}

class SdgDamageTest : public ::testing::Test {
 protected:
  SdgDamageTest()
      : workload_(heap_, parameters({{"scale", "5"}, {"degree", "8"}, {"bytes", "72"}})) {
    workload_.set_up(1, 1).check();
    Random random(5);
    for (int i = 0; i < 300; ++i) {
      workload_.operation(0, random);
    }
    EXPECT_TRUE(workload_.check().ok()) << workload_.check().to_string();
    root_ = heap_.find_root<SdgRoot<PlainHeap>>("sdg").value();
    for (uint64_t v = 0; number_ == kNone && v < 32; ++v) {
      number_ = root_->vertex.load()[v].count >= 3 ? v : kNone;
    }
    vertex_ = root_->vertex.load() + number_;
  }

  void expect_noticed(const std::string& text) {
    const Status status = workload_.check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  static constexpr uint64_t kNone = ~uint64_t{0};
  PlainHeap heap_;
  Sdg<PlainHeap> workload_;
  SdgRoot<PlainHeap>* root_ = nullptr;
  uint64_t number_ = kNone;  ///< of the vertex
  SdgVertex<PlainHeap>* vertex_ = nullptr;
};

TEST_F(SdgDamageTest, ATornRecordIsNoticedAtEachWord) {
  auto* const record = root_->record.view().element(3);
  for (uint64_t w = 1; w < 9; ++w) {
    record[w] += 1;
    expect_noticed("the record of vertex 3 is torn at word " + std::to_string(w));
    record[w] -= 1;
  }
}

TEST_F(SdgDamageTest, ARecordWithoutItsEdgeIsNoticed) {
  for (uint64_t w = 0; w < 9; ++w) {
    root_->record.view().element(3)[w] += 1;
  }
  expect_noticed("vertex 3 has");
}

TEST_F(SdgDamageTest, AnEdgeAtOneEndIsNoticed) {
  heap_.update([&] { vertex_->erase(vertex_->edge.load()[1].load()); }).check();
  auto* const record = root_->record.view().element(number_);
  for (uint64_t w = 0; w < 9; ++w) {
    record[w] += 1;
  }
  expect_noticed("is at one of its ends only");
}

TEST_F(SdgDamageTest, WrongEdgesAreNoticed) {
  auto* const words = vertex_->edge.load();
  const uint64_t first = words[0];
  words[0] = words[1].load();
  expect_noticed("out of order");
  words[0] = first ^ uint64_t { 1 } << 32;
  expect_noticed("of other vertices");
  words[0] = first | 0xffffffff;
  expect_noticed("which does not exist");
  words[0] = first;
  vertex_->count = vertex_->room + 1;
  expect_noticed("no room for them");
}

}  // namespace
}  // namespace holdfast::testing::sdg_test
