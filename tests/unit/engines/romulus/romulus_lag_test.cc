// SPDX-License-Identifier: Apache-2.0
//
// Does romulus-log with a lag keep its bound, its age limit and its cost, and do fences and durable
// commits end the lag?
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "holdfast/engines/romulus/romulus.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::romulus_lag_test {
namespace {

using Engine = RomulusLog<SimMachine>;
using Fixture = EngineFixture<Engine>;

uint64_t fences(const SimMachine& machine) {
  return machine.counters().pfence + machine.counters().psync;
}

using Words = std::array<uint64_t, 2>;

/// Runs run(machine, heap) on a new heap of a page. Returns its first words after a crash that
/// keeps nothing but fenced write-backs.
template <class Run>
Words after_crash(const Options& options, Run&& run, int threads = 1) {
  SimImage image;
  {
    SimMachine machine({.threads = threads, .seed = 1});
    Fixture heap(machine, {.options = options, .bytes = kPageBytes});
    heap.format().check();
    heap.recover().check();
    run(machine, heap);
    image = machine.earliest_image();
  }
  SimMachine machine({.threads = 1, .seed = 2}, image);
  Fixture heap(machine, {.bytes = kPageBytes});
  heap.recover().check();
  return {heap.read(0), heap.read(1)};
}

const Options kNine = {{"lag", "9"}, {"lag_ms", "1000"}};

TEST(RomulusLag, TheOptionsDecideThePromise) {
  const auto promise = [](const Options& options) {
    return Engine::kDescription.promised(options, false);
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
  for (const uint64_t writes : {9U, 10U}) {
    uint64_t cost = 0;
    const Words left = after_crash(kNine, [&](SimMachine& machine, Fixture& heap) {
      const uint64_t before = fences(machine);
      for (uint64_t i = 1; i <= writes; ++i) {
        heap.write(0, i);
      }
      cost = fences(machine) - before;
    });
    EXPECT_EQ(cost, writes == 9 ? 1u : 4u) << "MUT; the tenth has no credit";
    EXPECT_EQ(left[0], writes == 9 ? 0u : 10u);
  }
}

TEST(RomulusLag, OnlyAFenceOrADurableCommitEndsTheLag) {
  const auto left = [](auto&& end) {
    return after_crash(kNine, [&](SimMachine&, Fixture& heap) {
      heap.write(0, 1);
      EXPECT_EQ(heap.read(0), 1u) << "readers see it at once";
      end(heap);
    });
  };
  EXPECT_EQ(left([](Fixture&) {}), (Words{0, 0}));
  EXPECT_EQ(left([](Fixture& heap) { heap.write(1, 7); }), (Words{0, 0}));
  EXPECT_EQ(left([](Fixture& heap) { heap.engine().fence(); }), (Words{1, 0}));
  EXPECT_EQ(left([](Fixture& heap) { EXPECT_TRUE(heap.engine().barrier().ok()); }), (Words{1, 0}));
  EXPECT_EQ(left([](Fixture& heap) { heap.engine().close().check(); }), (Words{1, 0}));
  EXPECT_EQ(left([](Fixture& heap) {
              const auto body = [&] { heap.set(1, 7); };
              heap.engine().update(body, Commit::durable);
            }),
            (Words{1, 7}));
}

TEST(RomulusLag, ABodyThatThrowsIsUndoneAndTheRestStands) {
  struct Stop {};
  const Words left = after_crash(kNine, [](SimMachine&, Fixture& heap) {
    heap.write(0, 1);
    const auto body = [&] {
      heap.set(0, 5);
      throw Stop();
    };
    EXPECT_THROW(heap.engine().update(body), Stop);
    EXPECT_EQ(heap.read(0), 1u);
    heap.write(1, 2);
    heap.engine().fence();
  });
  EXPECT_EQ(left, (Words{1, 2}));
}

/// A fence covers the write-backs of its own thread only. So a batch that has written back, to undo
/// a body or because it is large, is made durable at once. The next one lags again.
TEST(RomulusLag, ABatchThatHasWrittenBackDoesNotLag) {
  struct Stop {};
  const auto left = [](bool stores, bool more) {
    return after_crash(kNine, [&](SimMachine&, Fixture& heap) {
      heap.write(0, 1);
      EXPECT_THROW(heap.engine().update([&] {
        if (stores) {
          heap.set(1, 5);
        }
        throw Stop();
      }),
                   Stop);
      if (more) {
        heap.write(1, 7);
      }
    });
  };
  EXPECT_EQ(left(true, false), (Words{1, 0}));
  EXPECT_EQ(left(true, true), (Words{1, 0}));
  EXPECT_EQ(left(false, false), (Words{0, 0})) << "nothing to undo";
  const Words large = after_crash(kNine, [](SimMachine&, Fixture& heap) {
    const std::vector<uint64_t> page(heap.words(), 3);
    heap.engine().update([&] {
      Engine::store_range(heap.word(0), page.data(), kPageBytes);
      Engine::store_range(heap.word(0), page.data(), kPageBytes);
    });
  });
  EXPECT_EQ(large, (Words{3, 3}));
}

TEST(RomulusLag, WhatStoresNothingIsNotPending) {
  after_crash(kNine, [](SimMachine&, Fixture& heap) {
    heap.engine().update([] {});
    EXPECT_EQ(heap.engine().pending().count, 0u);
    heap.write(0, 1);
    heap.engine().update([] {});
    EXPECT_EQ(heap.engine().pending().count, 1u);
  });
}

TEST(RomulusLag, ACloseLeavesNothingToRecover) {
  SimImage image;
  {
    SimMachine machine({.threads = 1});
    Fixture heap(machine, {.options = kNine, .bytes = kPageBytes});
    heap.format().check();
    heap.recover().check();
    heap.write(0, 1);
    heap.engine().close().check();
    heap.engine().compare_copies().check();
    image = machine.earliest_image();
  }
  SimMachine machine({.threads = 1}, image);
  Fixture heap(machine, {.bytes = kPageBytes});
  heap.recover().check();
  EXPECT_FALSE(heap.report().needed);
  EXPECT_EQ(heap.read(0), 1u);
}

/// No thread commits any more, but one still runs, so simulated time passes.
TEST(RomulusLag, TheFlusherEndsTheLagOfAnOldUpdate) {
  const auto run = [](SimMachine& machine, Fixture& heap) {
    machine.run_threads(2, [&](int thread) {
      if (thread == 0) {
        heap.write(0, 1);
        return;
      }
      for (int i = 0; i < 1000; ++i) {
        static_cast<void>(heap.read(1));
      }
    });
  };
  EXPECT_EQ(after_crash({{"lag", "9"}, {"lag_ms", "1"}}, run, 2)[0], 1u);
  EXPECT_EQ(after_crash({{"lag", "9"}, {"lag_ms", "100000"}}, run, 2)[0], 0u) << "it is not old";
}

/// The machine defers the psync of an update that takes more than half of the credits. It is on its
/// way then, and nothing but the flusher waits for it.
TEST(RomulusLag, TheFlusherEndsTheLagOfAnUpdateOnItsWay) {
  SimMachine machine({.threads = 2, .seed = 1, .domain = Domain::file, .journal = true});
  Fixture heap(machine, {.options = {{"lag", "1"}, {"lag_ms", "1"}}, .bytes = kPageBytes});
  heap.format().check();
  heap.recover().check();
  auto* const other = make_object<SimMachine::Atomic<uint64_t>>(machine);
  machine.run_threads(2, [&](int thread) {
    if (thread == 0) {
      const auto body = [&] { heap.set(0, 1); };
      heap.engine().update(body, Commit::later);
      return;
    }
    for (uint64_t i = 0; i < 1000; ++i) {
      other->store(i);  // wakes the flusher
    }
  });
  EXPECT_EQ(heap.engine().pending().count, 0u);
}

TEST(RomulusLag, UpdatesAreDurableWithoutTheOptions) {
  const Words left = after_crash({}, [](SimMachine&, Fixture& heap) {
    const auto body = [&] { heap.set(0, 1); };
    heap.engine().update(body, Commit::later);
  });
  EXPECT_EQ(left[0], 1u);
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
}  // namespace holdfast::romulus_lag_test
