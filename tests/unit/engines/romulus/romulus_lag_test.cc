// SPDX-License-Identifier: Apache-2.0
//
// Does romulus-log with a lag keep its bound, its age limit and its cost, and do fences and durable
// commits end the lag?
#include <gtest/gtest.h>

#include "holdfast/engines/romulus/romulus.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast {
namespace {

using Engine = RomulusLog<SimMachine>;
using Fixture = EngineFixture<Engine>;

uint64_t fences(const SimMachine& machine) {
  return machine.counters().pfence + machine.counters().psync;
}

/// A formatted heap of a page with these options.
class Lagging {
 public:
  explicit Lagging(const Options& options, int threads = 1)
      : machine({.threads = threads, .seed = 1}),
        heap(machine, {.options = options, .bytes = kPageBytes}) {
    heap.format().check();
    heap.recover().check();
  }

  /// Returns a word of the heap after a crash that keeps nothing but fenced write-backs.
  uint64_t after_crash(size_t word) {
    SimMachine machine_after({.threads = 1, .seed = 2}, machine.earliest_image());
    Fixture again(machine_after, {.bytes = kPageBytes});
    again.recover().check();
    return again.read(word);
  }

  SimMachine machine;
  Fixture heap;
};

TEST(RomulusLag, TheOptionsDecideThePromise) {
  const auto promise = [](const Options& options) {
    return Engine::kDescription.promised(options);
  };
  EXPECT_EQ(promise({}).durability, Durability::strict);
  EXPECT_EQ(promise({}).bound, 0u);
  EXPECT_EQ(promise({{"lag", "0"}}).durability, Durability::strict);
  EXPECT_EQ(promise({{"lag", "7"}}).durability, Durability::lagging);
  EXPECT_EQ(promise({{"lag", "7"}}).bound, 7u);
  EXPECT_EQ(promise({{"lag_ms", "5"}}).bound, 1024u);
  EXPECT_EQ(promise({{"commit", "later"}}).durability, Durability::lagging);
  EXPECT_EQ(promise({{"commit", "later"}, {"lag", "0"}}).durability, Durability::strict);
  EXPECT_EQ(promise({{"commit", "durable"}, {"lag", "7"}}).durability, Durability::strict);
  EXPECT_EQ(promise({{"commit", "durable"}, {"lag", "7"}}).bound, 7u);
}

TEST(RomulusLag, BadValuesAreRefused) {
  const auto status = [](const Options& options) {
    return Engine::kDescription.area_bytes(options, 1).status().to_string();
  };
  EXPECT_NE(status({{"commit", "soon"}}).find("durable or later"), std::string::npos);
  EXPECT_NE(status({{"lag", "-1"}}).find("lag"), std::string::npos);
  EXPECT_NE(status({{"lag_ms", "0"}}).find("lag_ms"), std::string::npos);
}

TEST(RomulusLag, AGroupCostsFourFences) {
  Lagging lagging({{"lag", "9"}, {"lag_ms", "1000"}});
  const uint64_t before = fences(lagging.machine);
  for (uint64_t i = 1; i <= 9; ++i) {
    lagging.heap.write(0, i);
  }
  EXPECT_EQ(fences(lagging.machine) - before, 1u) << "MUT";
  EXPECT_EQ(lagging.after_crash(0), 0u);
  lagging.heap.write(0, 10);
  EXPECT_EQ(fences(lagging.machine) - before, 4u) << "the tenth has no credit";
  EXPECT_EQ(lagging.after_crash(0), 10u);
}

TEST(RomulusLag, ADurableCommitAndAFenceEndTheLag) {
  Lagging lagging({{"lag", "9"}, {"lag_ms", "1000"}});
  lagging.heap.write(0, 1);
  EXPECT_EQ(lagging.heap.read(0), 1u) << "readers see it at once";
  EXPECT_EQ(lagging.after_crash(0), 0u);
  lagging.heap.engine().fence();
  EXPECT_EQ(lagging.after_crash(0), 1u);
  lagging.heap.write(0, 2);
  const auto body = [&] { lagging.heap.set(1, 7); };
  lagging.heap.engine().update(body, Commit::durable);
  EXPECT_EQ(lagging.after_crash(0), 2u);
  EXPECT_EQ(lagging.after_crash(1), 7u);
  lagging.heap.write(0, 3);
  EXPECT_TRUE(lagging.heap.engine().barrier().ok());
  EXPECT_EQ(lagging.after_crash(0), 3u);
  lagging.heap.write(0, 4);
  lagging.heap.engine().close().check();
  EXPECT_EQ(lagging.after_crash(0), 4u);
}

TEST(RomulusLag, ABodyThatThrowsIsUndoneAndTheRestStands) {
  struct Stop {};
  Lagging lagging({{"lag", "9"}, {"lag_ms", "1000"}});
  lagging.heap.write(0, 1);
  const auto body = [&] {
    lagging.heap.set(0, 5);
    throw Stop();
  };
  EXPECT_THROW(lagging.heap.engine().update(body), Stop);
  EXPECT_EQ(lagging.heap.read(0), 1u);
  lagging.heap.write(1, 2);
  lagging.heap.engine().fence();
  EXPECT_EQ(lagging.after_crash(0), 1u);
  EXPECT_EQ(lagging.after_crash(1), 2u);
}

/// No thread commits any more, but one still runs, so simulated time passes.
TEST(RomulusLag, TheFlusherEndsTheLagOfAnOldUpdate) {
  Lagging lagging({{"lag", "9"}, {"lag_ms", "1"}}, 2);
  lagging.machine.run_threads(2, [&](int thread) {
    if (thread == 0) {
      lagging.heap.write(0, 1);
      return;
    }
    for (int i = 0; i < 1000; ++i) {
      static_cast<void>(lagging.heap.read(1));
    }
  });
  EXPECT_EQ(lagging.after_crash(0), 1u);
}

TEST(RomulusLag, UpdatesAreDurableWithoutTheOptions) {
  Lagging lagging({});
  const auto body = [&] { lagging.heap.set(0, 1); };
  lagging.heap.engine().update(body, Commit::later);
  EXPECT_EQ(lagging.after_crash(0), 1u);
}

TEST(HeapFence, InsideATransactionIsMisuse) {
  SimMachine machine({.threads = 1, .seed = 1});
  CreateOptions options;
  options.bytes = 16 * kPageBytes;
  auto heap = Heap<Engine>::create(machine, options).value();
  Status fence;
  Status barrier;
  heap->update([&] {
        fence = heap->fence();
        barrier = heap->barrier();
      })
      .check();
  EXPECT_EQ(fence.code(), Code::misuse);
  EXPECT_NE(fence.message().find("heap.fence()"), std::string::npos);
  EXPECT_EQ(barrier.code(), Code::misuse);
  EXPECT_TRUE(heap->fence().ok());
  EXPECT_TRUE(heap->barrier().ok());
  heap->close().check();
  EXPECT_EQ(heap->fence().code(), Code::misuse) << "closed";
}

/// A barrier waits for every reader that it finds inside. Each visit has a number, so that a later
/// visit of the thread is told apart.
TEST(HeapBarrier, OutlastsTheTransactionsThatItMeets) {
  int met = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SimMachine machine({.threads = 2, .seed = seed});
    Fixture heap(machine, {.options = {{"lag", "4"}}, .bytes = kPageBytes});
    heap.format().check();
    heap.recover().check();
    int visit = 0;  // odd: the reader is inside
    machine.run_threads(2, [&](int thread) {
      if (thread == 1) {
        static_cast<void>(heap.read(0));
        const int before = visit;
        EXPECT_TRUE(heap.engine().barrier().ok());
        met += before % 2;
        EXPECT_TRUE(before % 2 == 0 || visit != before) << "seed " << seed;
        return;
      }
      for (int i = 0; i < 5; ++i) {
        heap.engine().read([&] {
          ++visit;
          for (int word = 0; word < 8; ++word) {
            static_cast<void>(heap.get(static_cast<size_t>(word)));
          }
          ++visit;
        });
      }
    });
  }
  EXPECT_GT(met, 20) << "the barrier hardly ever met a reader";
}

}  // namespace
}  // namespace holdfast
