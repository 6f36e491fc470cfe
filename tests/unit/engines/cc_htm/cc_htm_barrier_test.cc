// SPDX-License-Identifier: Apache-2.0
//
// Is every update that committed before a barrier's instant durable when the barrier returns, also
// one that began after the barrier did?
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/sanitized.h"
#include "tests/unit/engines/cc_htm/cc_htm_world.h"

namespace holdfast::cc_htm_test::cc_htm_barrier_test {
namespace {

constexpr int kThreads = 3;
using Counts = std::array<uint64_t, kThreads>;  ///< by worker

/// The return of a barrier, and what a power failure at that moment leaves.
struct Moment {
  Counts returned;  ///< updates of each worker that have returned
  SimImage image;
};

constexpr size_t word_of(size_t worker) {
  return worker * 8;
}

std::vector<Moment> barriers(uint64_t seed) {
  World w({{"lag", "4"}}, kThreads, seed);
  std::vector<Moment> moments;
  Counts returned{};
  w.machine.run_threads(kThreads, [&](int worker) {
    const auto own = static_cast<size_t>(worker);
    for (uint64_t i = 1; worker != 0 && i <= 40; ++i) {
      w.heap.write(word_of(own), i);
      returned[own] = i;
    }
    for (int i = 0; worker == 0 && i < 4; ++i) {
      w.heap.engine().barrier().check();
      moments.push_back({returned, w.machine.earliest_image()});
    }
  });
  return moments;
}

/// The release of the lock is the last thing that a barrier does, so no other update returns
/// between its instant and its return.
TEST(CcHtmBarrier, WhatHasReturnedWhenItReturnsSurvives) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 10 : 60); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    for (const Moment& moment : barriers(seed)) {
      SimMachine machine(machine_options(kThreads, seed), moment.image);
      Heap heap(machine, World::shape({{"lag", "4"}}, kThreads));
      heap.recover().check();
      for (size_t worker = 1; worker < kThreads; ++worker) {
        EXPECT_GE(heap.read(word_of(worker)), moment.returned[worker]) << "worker " << worker;
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::cc_htm_test::cc_htm_barrier_test
