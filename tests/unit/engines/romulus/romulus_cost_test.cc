// SPDX-License-Identifier: Apache-2.0
//
// What do updates cost when many threads combine, and recovery when little of a heap is used?
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "holdfast/engines/romulus/romulus.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::romulus_cost_test {
namespace {

template <class E>
class RomulusCost : public ::testing::Test {};
using Engines =
    ::testing::Types<Romulus<SimMachine>, RomulusLog<SimMachine>, RomulusLr<SimMachine>>;
TYPED_TEST_SUITE(RomulusCost, Engines);

// ---- fences

TYPED_TEST(RomulusCost, FewerThanFourFencesPerUpdateUnderCombining) {
  double before = 4;
  for (const int threads : {2, 4, 8, 16}) {
    uint64_t fences = 0;
    uint64_t updates = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      SimMachine machine({.threads = threads, .seed = seed});
      EngineFixture<TypeParam> heap(machine, {.bytes = kPageBytes, .max_threads = threads});
      heap.format().check();
      const PersistCounters start = machine.counters();
      machine.run_threads(threads, [&](int) {
        for (int i = 0; i < 10; ++i) {
          heap.engine().update([&] { heap.set(3, heap.get(3) + 1); });
        }
      });
      const PersistCounters cost = machine.counters() - start;
      fences += cost.pfence + cost.psync;
      updates += heap.engine().statistics().update_commits;
    }
    const double each = static_cast<double>(fences) / static_cast<double>(updates);
    EXPECT_EQ(updates, static_cast<uint64_t>(threads) * 10 * 40);
    EXPECT_LT(each, 4) << threads;
    EXPECT_LT(each, before) << "more threads make larger batches";
    before = each;
    std::printf("%d threads: %.2f fences per update\n", threads, each);
  }
}

// ---- recovery

struct RecoveryCost {
  uint64_t loads = 0;
  uint64_t write_backs = 0;
  uint64_t bytes = 0;  ///< as reported
};

/// A heap of so many bytes, of which so many were stored to before the power failed in the last
/// update, in phase MUT or CPY.
template <class E>
RecoveryCost recovery_cost(size_t heap_bytes, size_t used, romulus::Phase phase) {
  SimImage image;
  {
    SimMachine machine({.threads = 1});
    EngineFixture<E> heap(machine, {.bytes = heap_bytes});
    heap.format().check();
    heap.engine().update([&] {
      for (size_t at = 0; at < used; at += kPageBytes) {
        heap.set(at / sizeof(uint64_t), 1);
      }
      heap.set(used / sizeof(uint64_t) - 1, 1);
    });
    bool found = false;
    machine.before_persist_event([&](uint64_t) {
      if (!found) {
        image = machine.latest_image();
        uint64_t word = 0;
        std::memcpy(&word, image.data() + sizeof word, sizeof word);
        found = romulus::StateWord::unpack(word)->phase == phase;
      }
    });
    machine.run_threads(1, [&](int) { heap.write(0, 2); });
    machine.before_persist_event({});
    EXPECT_TRUE(found);
  }
  SimMachine machine({.threads = 1}, image);
  EngineFixture<E> heap(machine, {.bytes = heap_bytes});
  const SimCounters before = machine.statistics();
  heap.recover().check();
  EXPECT_TRUE(heap.report().needed);
  EXPECT_EQ(heap.report().transactions, 1u);
  EXPECT_EQ(heap.report().text, phase == romulus::Phase::mutating
                                    ? "undid an unfinished batch of updates"
                                    : "finished a committed batch of updates");
  return {(machine.statistics() - before).loads, machine.counters().pwb, heap.report().bytes};
}

TYPED_TEST(RomulusCost, RecoveryIsBoundedByWhatIsUsed) {
  constexpr size_t kMiB = 1 << 20;
  for (const size_t used : {64 * kPageBytes, 128 * kPageBytes, 256 * kPageBytes}) {
    const auto copied = recovery_cost<TypeParam>(2 * kMiB, used, romulus::Phase::copying);
    EXPECT_EQ(copied.bytes, used);
    EXPECT_EQ(copied.loads, 2 * used / sizeof(uint64_t) + 1);  // both copies, and the state
    EXPECT_EQ(copied.write_backs, used / kLineBytes + 2);      // and twice the state
    const auto undone = recovery_cost<TypeParam>(16 * kMiB, used, romulus::Phase::mutating);
    EXPECT_LE(undone.bytes, std::max<size_t>(256 << 10, 4 * used));
    EXPECT_GE(undone.bytes, used);
    EXPECT_EQ(undone.loads, 2 * undone.bytes / sizeof(uint64_t) + 1);
    std::printf("%d KiB used: CPY copies %d KiB, MUT %d KiB\n", static_cast<int>(used >> 10),
                static_cast<int>(copied.bytes >> 10), static_cast<int>(undone.bytes >> 10));
  }
  // The cost is equal in a heap of any size.
  for (const auto phase : {romulus::Phase::copying, romulus::Phase::mutating}) {
    const auto small = recovery_cost<TypeParam>(kMiB, 16 * kPageBytes, phase);
    const auto large = recovery_cost<TypeParam>(16 * kMiB, 16 * kPageBytes, phase);
    EXPECT_EQ(small.loads, large.loads);
    EXPECT_EQ(small.write_backs, large.write_backs);
    EXPECT_LE(large.bytes, 256u << 10);
  }
}

/// Over a journal, memory begins with what is durable, so only lines that differ are written back.
TYPED_TEST(RomulusCost, RecoveryOverAJournalWritesBackWhatDiffers) {
  constexpr size_t kUsed = 16 * kPageBytes;
  for (const bool journal : {false, true}) {
    const SimOptions options = {.threads = 1, .domain = Domain::file, .journal = journal};
    SimImage image;
    {
      SimMachine machine(options);
      EngineFixture<TypeParam> heap(machine, {.bytes = kUsed});
      heap.format().check();
      heap.write(kUsed / sizeof(uint64_t) - 1, 1);
      heap.engine().close().check();
      image = machine.latest_image();
      // A word of the twin that an interrupted batch has not copied yet.
      const uint64_t state = romulus::StateWord{romulus::Phase::copying, kUsed}.pack();
      std::memcpy(image.data() + sizeof state, &state, sizeof state);
      image[heap.regions().area_bytes + kUsed + 5 * kPageBytes + 16] ^= std::byte{1};
    }
    SimMachine machine(options, image);
    EngineFixture<TypeParam> heap(machine, {.bytes = kUsed});
    heap.recover().check();
    heap.engine().compare_copies().check();
    EXPECT_EQ(machine.counters().pwb, (journal ? 1 : kUsed / kLineBytes) + 2);  // twice the state
    EXPECT_EQ(machine.latest_image(), machine.earliest_image());
  }
}

}  // namespace
}  // namespace holdfast::romulus_cost_test
