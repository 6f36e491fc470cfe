// SPDX-License-Identifier: Apache-2.0
//
// Has the graph of ssca2 the shape of an R-MAT graph? Do workers build all of it? Does the check
// notice each kind of damage? Runs on plain memory.
#include "holdfast/workloads/ssca2/ssca2.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "holdfast/heap/plain_heap.h"

namespace holdfast::testing::ssca2_test {
namespace {

using Workload = Ssca2<PlainHeap>;
using Root = Ssca2Root<PlainHeap>;

Parameters parameters(int scale, int degree) {
  return Parameters::make(ssca2_info(),
                          {{"scale", std::to_string(scale)}, {"degree", std::to_string(degree)}})
      .value();
}

/// The quadrants of each level have the probabilities of SSCA2: 0.55, 0.1, 0.1, 0.25.
TEST(Ssca2RmatTest, EdgesFallIntoTheQuadrantsAsTheBenchmarkSays) {
  constexpr int kScale = 20;
  constexpr uint64_t kEdges = 20000;
  const RmatEdges edges(kScale, 1);
  for (int level = 0; level < kScale; ++level) {
    std::array<double, 4> share{};
    for (uint64_t i = 0; i < kEdges; ++i) {
      const RmatEdges::Edge edge = edges.before_permutation(i);
      ASSERT_TRUE(edge.from < edges.vertices() && edge.to < edges.vertices());
      share[2 * (edge.from >> level & 1) + (edge.to >> level & 1)] += 1.0 / kEdges;
    }
    // Five standard deviations, and the rounding to 1/256.
    EXPECT_NEAR(share[0], 0.55, 0.018) << "level " << level;
    EXPECT_NEAR(share[1], 0.10, 0.0125) << "level " << level;
    EXPECT_NEAR(share[2], 0.10, 0.0125) << "level " << level;
    EXPECT_NEAR(share[3], 0.25, 0.0175) << "level " << level;
  }
}

TEST(Ssca2RmatTest, VerticesArePermuted) {
  for (const int scale : {1, 2, 3, 8, 11}) {
    const RmatEdges edges(scale, 1);
    std::vector<uint64_t> before(edges.vertices());
    std::vector<uint64_t> after(edges.vertices());
    for (uint64_t i = 0; i < 20000; ++i) {
      before[edges.before_permutation(i).from] += 1;
      after[edges[i].from] += 1;
    }
    EXPECT_TRUE(scale < 3 || before != after);
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    EXPECT_EQ(before, after) << "scale " << scale;
  }
}

TEST(Ssca2RmatTest, AnotherSeedGivesAnotherGraph) {
  const RmatEdges one(16, 1);
  const RmatEdges two(16, 2);
  int equal = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    equal += one[i].from == two[i].from && one[i].to == two[i].to ? 1 : 0;
  }
  EXPECT_LT(equal, 10);
}

/// 64 vertices, 512 edges, two workers.
class Ssca2Test : public ::testing::Test {
 protected:
  static constexpr int kWorkers = 2;
  static constexpr uint64_t kEdges = 512;

  Ssca2Test() : workload_(heap_, parameters(6, 8)) {
    workload_.set_up(kWorkers, 1).check();
    root_ = heap_.find_root<Root>("ssca2").value();
  }

  void run(int worker, uint64_t operations) {
    Random random(1);
    for (uint64_t i = 0; i < operations; ++i) {
      workload_.operation(worker, random);
    }
  }
  uint64_t edges_there() const {
    uint64_t sum = 0;
    for (uint64_t vertex = 0; vertex < 64; ++vertex) {
      sum += root_->count.load()[vertex];
    }
    return sum;
  }
  /// A vertex with at least two edges, and room for one more.
  uint64_t vertex() const {
    for (uint64_t v = 0; v < 64; ++v) {
      const uint64_t count = root_->count.load()[v];
      const uint64_t slots = root_->first.load()[v + 1] - root_->first.load()[v];
      if (count >= 2 && count < slots) {
        return v;
      }
    }
    throw Error(Status(Code::not_found, "no such vertex"));
  }
  PlainField<uint64_t>* slots_of(uint64_t v) const {
    return root_->slot.load() + root_->first.load()[v];
  }
  void expect_noticed(const std::string& text) {
    const Status status = workload_.check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  PlainHeap heap_;
  Workload workload_;
  Root* root_ = nullptr;
};

TEST_F(Ssca2Test, WorkersBuildTheGraphAndRemoveItAgain) {
  for (int worker = 0; worker < kWorkers; ++worker) {
    run(worker, kEdges / kWorkers);
  }
  EXPECT_EQ(edges_there(), kEdges);
  EXPECT_TRUE(workload_.check().ok()) << workload_.check().to_string();
  run(1, 100);
  EXPECT_EQ(edges_there(), kEdges - 100);
  EXPECT_TRUE(workload_.check().ok()) << workload_.check().to_string();
  run(1, kEdges / kWorkers - 100);
  EXPECT_EQ(edges_there(), kEdges / kWorkers);
  run(1, 5);
  EXPECT_EQ(edges_there(), kEdges / kWorkers + 5) << "and begins anew";
  EXPECT_TRUE(workload_.check().ok()) << workload_.check().to_string();
}

TEST_F(Ssca2Test, AnAttachedWorkloadContinuesWhereTheHeapEnds) {
  run(0, 100);
  run(1, 7);
  Workload second(heap_, parameters(6, 8));
  second.attach().check();
  Random random(1);
  second.operation(0, random);
  second.operation(1, random);
  EXPECT_EQ(edges_there(), 109U);
  EXPECT_TRUE(second.check().ok()) << second.check().to_string();
}

TEST_F(Ssca2Test, AMissingEdgeIsNoticed) {
  run(0, 100);
  Random random(1);
  EXPECT_EQ(workload_.draw(0, random).kind, GraphModel::kAdd) << "and does not perform it";
  run(0, 1);
  expect_noticed("of worker 0 is missing");
}

TEST_F(Ssca2Test, ACountAheadOfItsSlotIsNoticed) {
  run(0, 200);
  root_->count.load()[vertex()] += 1;
  expect_noticed("holds 0");
}

TEST_F(Ssca2Test, ASlotAheadOfItsCountIsNoticed) {
  run(0, 200);
  root_->count.load()[vertex()] -= 1;
  expect_noticed("edges, holds");
}

TEST_F(Ssca2Test, MoreEdgesThanSlotsAreNoticed) {
  run(0, 200);
  root_->count.load()[vertex()] = kEdges + 1;
  expect_noticed("has 513 edges in");
}

TEST_F(Ssca2Test, AnEdgeTwiceIsNoticed) {
  run(0, 200);
  slots_of(vertex())[1] = slots_of(vertex())[0].load();
  expect_noticed("twice");
}

TEST_F(Ssca2Test, AnEdgeOfAnotherVertexIsNoticed) {
  run(0, 200);
  const uint64_t v = vertex();
  const RmatEdges edges(6, 1);
  uint64_t other = 0;
  while (edges[other].from == v) {
    ++other;
  }
  slots_of(v)[0] = edges[other].to << 32 | (other + 1);
  expect_noticed("of another vertex");
}

TEST_F(Ssca2Test, AnotherTargetIsNoticed) {
  run(0, 200);
  slots_of(vertex())[0] += uint64_t{1} << 32;
  expect_noticed("edges, holds");
}

TEST_F(Ssca2Test, AWrongRangeIsNoticed) {
  root_->first.load()[7] += 1;
  expect_noticed("the slots of vertex 7 begin at");
}

TEST_F(Ssca2Test, AWrongEndIsNoticed) {
  root_->first.load()[64] += 1;
  expect_noticed("the last slot is wrong");
}

TEST(Ssca2ParametersTest, NonsenseIsRefused) {
  PlainHeap heap;
  EXPECT_THROW(Workload(heap, parameters(21, 8)), Error);
  EXPECT_THROW(Workload(heap, parameters(0, 8)), Error);
  EXPECT_THROW(Workload(heap, parameters(5, 0)), Error);
}

TEST(Ssca2ParametersTest, AWorkerWithoutEdgesIsRefused) {
  PlainHeap heap;
  Workload workload(heap, parameters(1, 1));
  workload.set_up(3, 1).check();
  Random random(1);
  for (int i = 0; i < 9; ++i) {
    workload.operation(i % 2, random);
  }
  EXPECT_THROW(workload.operation(2, random), Error);
  EXPECT_TRUE(workload.check().ok()) << workload.check().to_string();
}

}  // namespace
}  // namespace holdfast::testing::ssca2_test
