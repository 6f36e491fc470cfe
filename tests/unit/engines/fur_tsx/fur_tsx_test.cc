// SPDX-License-Identifier: Apache-2.0
// Does fur-tsx keep its word through power failures, and count the time of its waits as such?
#include "holdfast/engines/fur_tsx/fur_tsx.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/sanitized.h"
#include "tests/unit/engines/history.h"
#include "tests/unit/engines/timeline_world.h"

namespace holdfast::timeline_test::fur_tsx_test {
namespace {

using Engine = FurTsx<SimMachine>;
using Heap = EngineFixture<Engine>;
using Phases = std::vector<Phase>;
using history_test::Acknowledged;

constexpr int kThreads = 3;

EngineFixtureShape shape(const char* retries) {
  EngineFixtureShape s;
  s.options = {{"log_bytes", "1024"}, {"background", "0"}, {"retries", retries}};
  s.bytes = kPageBytes;
  s.max_threads = kThreads;
  return s;
}

SimOptions options(uint64_t seed) {
  SimOptions o;
  o.threads = kThreads;
  o.seed = seed;
  o.slot_order = seed;
  o.rmw_orders_pwb = false;
  o.switch_probability = seed % 2 == 0 ? 0.25 : 0.08;
  return o;
}

/// Three images of a power failure at a random moment of a run.
std::vector<SimImage> cut_off(uint64_t seed, const char* retries, Acknowledged& told) {
  SimMachine machine(options(seed));
  Heap heap(machine, shape(retries));
  heap.format().check();
  heap.recover().check();
  Random random(seed);
  machine.crash_at(machine.persist_events() + random.below(110));
  uint64_t next = 1;
  machine.run_threads(kThreads, [&](int thread) {
    const uint64_t own_seed = seed * kThreads + static_cast<uint64_t>(thread);
    history_test::Worker<Engine> worker(heap, told, own_seed);
    for (int i = 0; i < 10; ++i) {
      thread == 2 && i % 3 != 0 ? worker.read() : worker.update(next++);
    }
  });
  return {machine.earliest_image(), machine.latest_image(), machine.sample_image(random)};
}

TEST(FurTsx, APowerCutTakesNothingThatWasAnsweredOrReadByASurvivor) {
  for (const char* retries : {"10", "0"}) {
    for (uint64_t seed = 1; seed <= 400; seed += kStep) {
      Acknowledged told;
      for (const SimImage& image : cut_off(seed, retries, told)) {
        SimMachine machine(options(seed), image);
        Heap heap(machine, shape(retries));
        heap.recover().check();
        ASSERT_EQ(history_test::judge(heap, told), "") << "seed " << seed << ", " << retries;
      }
    }
  }
}

/// Readers announce themselves, and take the announcement back if they then find the lock taken.
TEST(FurTsx, ReadersBesideTheLockSeeOneState) {
  uint64_t retracted = 0;
  for (uint64_t seed = 1; seed <= 200; seed += kStep) {
    SimMachine machine(options(seed));
    Heap heap(machine, shape("0"));
    heap.format().check();
    heap.recover().check();
    machine.run_threads(kThreads, [&](int thread) {
      for (uint64_t i = 1; i <= 10; ++i) {
        if (thread == 0) {
          heap.engine().update([&] {
            heap.set(0, i);
            heap.set(100, i);
          });
        } else {
          heap.engine().read([&] { EXPECT_EQ(heap.get(0), heap.get(100)) << seed; });
        }
      }
    });
    auto probes = machine.probes();
    retracted += probes["furtsx.retracts"];
    EXPECT_EQ(heap.engine().statistics().lock_fallbacks, 10u);
  }
  EXPECT_GT(retracted, 0u);
}

/// Hardware that suspends the tracking of loads. The other simulated machines do not, so there all
/// updates take the lock.
SimOptions timed(bool suspends_loads) {
  SimOptions o = power9(2);
  MachineDescription machine = *o.machine;
  machine.htm.suspend_load_tracking = suspends_loads;
  o.machine = std::make_shared<MachineDescription>(machine);
  return o;
}

struct Seen {
  Phases phases;
  uint64_t lock_fallbacks;
};

template <class Body>
Seen run(bool update, bool in_hardware, Body&& body) {
  const auto row = any_engine_row<Engine>();
  World w(row, timed(in_hardware), {{"background", "0"}, {"log_bytes", "4096"}});
  w.run(1, [&](int) {
    const auto own = [&] { body(w.heap); };
    update ? w.heap.engine().update(own) : w.heap.engine().read(own);
  });
  return {w.order(kSlotOfWorker0), w.heap.engine().statistics().lock_fallbacks};
}

TEST(FurTsx, ATransactionGoesThroughThesePhases) {
  const auto store = [](auto& heap) { heap.set(3, 7); };
  const auto load = [](auto& heap) { static_cast<void>(heap.get(3)); };
  const Seen hardware = run(true, true, store);
  EXPECT_EQ(hardware.phases,
            (Phases{Phase::execute, Phase::commit, Phase::isolation_wait, Phase::commit,
                    Phase::log_flush, Phase::durability_wait, Phase::marker_flush}));
  EXPECT_EQ(hardware.lock_fallbacks, 0u);
  const Seen locked = run(true, false, store);
  EXPECT_EQ(locked.phases,
            (Phases{Phase::execute, Phase::lock_wait, Phase::isolation_wait, Phase::execute,
                    Phase::log_flush, Phase::durability_wait, Phase::marker_flush}));
  EXPECT_EQ(locked.lock_fallbacks, 1u);
  EXPECT_EQ(run(false, true, load).phases, (Phases{Phase::execute, Phase::durability_wait}));
}

TEST(FurTsx, NeedsHardwareThatSuspendsTheTrackingOfLoads) {
  EXPECT_TRUE(Engine::uses_hardware({.backend = "rtm", .suspend_loads = true}));
  EXPECT_FALSE(Engine::uses_hardware({.backend = "none", .suspend_loads = true}));
  EXPECT_FALSE(Engine::uses_hardware({.backend = "power", .suspend = true}));
}

TEST(FurTsx, TwoFencesPerUpdate) {
  SimMachine machine(options(1));
  Heap heap(machine, shape("10"));
  heap.format().check();
  heap.recover().check();
  const PersistCounters before = machine.counters();
  heap.write(0, 1);
  const PersistCounters c = machine.counters() - before;
  EXPECT_EQ(std::to_string(c.pfence + c.psync), Engine::kDescription.fences);
}

}  // namespace
}  // namespace holdfast::timeline_test::fur_tsx_test
