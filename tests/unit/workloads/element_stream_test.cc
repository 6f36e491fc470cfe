// SPDX-License-Identifier: Apache-2.0
//
// Do array-stream and huge update neighbouring lines in turn, and do their checks notice each kind
// of damage?
#include "holdfast/workloads/parts/element_stream.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "holdfast/workloads/array_stream/array_stream.h"
#include "holdfast/workloads/huge/huge.h"
#include "tests/unit/workloads/counting_heap.h"

namespace holdfast::testing::element_stream_test {
namespace {

using Given = std::map<std::string, std::string>;

Parameters parameters(const WorkloadInfo& info, const Given& given) {
  return Parameters::make(info, given).value();
}

template <class H>
typename ElementArray<H>::View view_of(H& heap, const WorkloadInfo& info) {
  return heap.template find_root<ElementStreamRoot<H>>(info.name).value()->array.view();
}

TEST(ArrayStreamFootprintTest, ATransactionUpdatesTheNextElements) {
  CountingHeap heap;
  ArrayStream<CountingHeap> workload(
      heap,
      parameters(array_stream_info(), {{"entries", "30"}, {"elements", "3"}, {"bytes", "80"}}));
  workload.set_up(1, 1).check();
  const auto view = view_of(heap, array_stream_info());
  const uintptr_t first = reinterpret_cast<uintptr_t>(view.word) / kLineBytes;
  Random random(1);
  for (uint64_t i = 0; i < 25; ++i) {
    CountingHeap::reset();
    workload.operation(0, random);
    std::set<uintptr_t> lines;
    for (uint64_t line = 0; line < 6; ++line) {
      lines.insert(first + i % 10 * 6 + line);
    }
    ASSERT_EQ(CountingHeap::lines, lines) << "transaction " << i;
    ASSERT_EQ(CountingHeap::loads, 30U);
    ASSERT_EQ(CountingHeap::stores, 30U);
  }
}

/// Source: Hercules 5.2: "keeps doing with continuous caches lines in a read-modify-write fashion".
TEST(HugeFootprintTest, ATransactionReadsAndWritesAllItsLines) {
  for (const uint64_t bytes : {8, 64}) {
    CountingHeap heap;
    Huge<CountingHeap> workload(
        heap, parameters(huge_info(), {{"lines", "1000"}, {"bytes", std::to_string(bytes)}}));
    workload.set_up(1, 1).check();
    Random random(1);
    CountingHeap::reset();
    workload.operation(0, random);
    EXPECT_EQ(CountingHeap::lines.size(), 1000U);
    EXPECT_EQ(*CountingHeap::lines.rbegin() - *CountingHeap::lines.begin(), 999U);
    EXPECT_EQ(CountingHeap::loads, 1000 * bytes / 8);
    EXPECT_EQ(CountingHeap::stores, 1000 * bytes / 8);
  }
}

TEST(ArrayStreamTest, EntriesAreRoundedUpToWholeGroups) {
  PlainHeap heap;
  ArrayStream<PlainHeap> workload(
      heap, parameters(array_stream_info(), {{"entries", "10"}, {"elements", "4"}}));
  workload.set_up(1, 1).check();
  EXPECT_EQ(view_of(heap, array_stream_info()).entries, 12U);
  EXPECT_EQ(workload.observe().value(), ModelState(3));
}

TEST(ArrayStreamTest, WorkersBeginAtPlacesOfTheirOwn) {
  PlainHeap heap;
  ArrayStream<PlainHeap> workload(
      heap, parameters(array_stream_info(), {{"entries", "12"}, {"elements", "1"}}));
  workload.set_up(3, 1).check();
  Random random(1);
  std::vector<uint64_t> first;
  for (int worker = 0; worker < 3; ++worker) {
    first.push_back(workload.draw(worker, random).argument[0]);
  }
  EXPECT_EQ(first, (std::vector<uint64_t>{0, 4, 8}));
  for (uint64_t i = 1; i < 12; ++i) {
    EXPECT_EQ(workload.draw(2, random).argument[0], (8 + i) % 12);
  }
}

TEST(ArrayStreamTest, NonsenseIsRefused) {
  PlainHeap heap;
  for (const Given& wrong : {Given{{"entries", "0"}}, Given{{"elements", "0"}},
                             Given{{"bytes", "7"}}, Given{{"bytes", "0"}}}) {
    EXPECT_THROW(ArrayStream<PlainHeap>(heap, parameters(array_stream_info(), wrong)), Error);
  }
  for (const Given& wrong : {Given{{"lines", "0"}}, Given{{"regions", "0"}}, Given{{"bytes", "72"}},
                             Given{{"bytes", "4"}}}) {
    EXPECT_THROW(Huge<PlainHeap>(heap, parameters(huge_info(), wrong)), Error);
  }
}

class ElementStreamDamageTest : public ::testing::Test {
 protected:
  ElementStreamDamageTest()
      : workload_(heap_, parameters(array_stream_info(),
                                    {{"entries", "12"}, {"elements", "3"}, {"bytes", "72"}})) {
    workload_.set_up(1, 1).check();
    Random random(1);
    for (int i = 0; i < 6; ++i) {
      workload_.operation(0, random);
    }
    EXPECT_EQ(workload_.observe().value(), (ModelState{2, 2, 1, 1}));
    view_ = view_of(heap_, array_stream_info());
  }

  void expect_noticed(const std::string& text) {
    const Status status = workload_.check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  PlainHeap heap_;
  ArrayStream<PlainHeap> workload_;
  ElementArray<PlainHeap>::View view_;
};

TEST_F(ElementStreamDamageTest, EachWordThatMissesAnUpdateIsNoticed) {
  for (uint64_t i = 0; i < view_.entries; ++i) {
    for (uint64_t w = 0; w < view_.words; ++w) {
      view_.element(i)[w] -= 1;
      expect_noticed("array-stream: group " + std::to_string(i / 3));
      view_.element(i)[w] += 1;
    }
  }
  EXPECT_TRUE(workload_.check().ok());
}

TEST_F(ElementStreamDamageTest, AnElementWithoutAnUpdateIsNoticed) {
  for (uint64_t w = 0; w < view_.words; ++w) {
    view_.element(4)[w] -= 1;
  }
  expect_noticed("group 1 had 2 updates by its first word, and 1 by word 0 of element 4");
}

TEST_F(ElementStreamDamageTest, TwoElementsThatChangedPlacesAreNoticed) {
  for (uint64_t w = 0; w < view_.words; ++w) {
    const uint64_t word = view_.element(7)[w];
    view_.element(7)[w] = view_.element(8)[w].load();
    view_.element(8)[w] = word;
  }
  expect_noticed("group 2");
}

}  // namespace
}  // namespace holdfast::testing::element_stream_test
