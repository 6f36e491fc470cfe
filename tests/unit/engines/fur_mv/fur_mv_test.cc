// SPDX-License-Identifier: Apache-2.0
// Does fur-mv keep its promises beyond every engine's: readers that never wait?
#include "holdfast/engines/fur_mv/fur_mv.h"

#include <gtest/gtest.h>

#include "holdfast/machine/sim/description/machine_description.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::fur_mv_test {
namespace {

using Engine = FurMv<SimMachine>;
using Heap = EngineFixture<Engine>;

SimOptions machine_with(int threads, uint64_t seed = 1) {
  SimOptions options;
  options.threads = threads;
  options.domain = Domain::pmem;
  options.seed = seed;
  return options;
}

Heap make_heap(SimMachine& machine, Options options = {}) {
  return Heap(machine, {.options = std::move(options)});
}

TEST(FurMv, AReaderFencesNothingAndWritesNothingBack) {
  SimMachine machine(machine_with(1));
  Heap heap = make_heap(machine);
  heap.format().check();
  heap.recover().check();
  machine.run_threads(1, [&](int) {
    heap.engine().update([&] { heap.set(3, 7); });
    const PersistCounters before = machine.counters();
    heap.engine().read([&] { EXPECT_EQ(heap.get(3), 7U); });
    const PersistCounters used = machine.counters() - before;
    EXPECT_EQ(used.pwb + used.pfence + used.psync + used.fence, 0U);
  });
}

TEST(FurMv, AReaderWaitsInNoPhaseHoweverManyUpdatesRun) {
  SimOptions options = machine_with(4);
  options.machine = std::make_shared<MachineDescription>(
      load_machine(HOLDFAST_SOURCE_DIR "/experiments/machines/power9.toml").value());
  options.schedule = Schedule::timed;
  SimMachine machine(options);
  Heap heap = make_heap(machine, {{"stripes", "16"}});
  heap.format().check();
  heap.recover().check();
  machine.run_threads(4, [&](int number) {
    for (uint64_t i = 0; i < 40; ++i) {
      if (number == 0) {
        heap.engine().read([&] {
          for (size_t word = 0; word < 32; ++word) {
            static_cast<void>(heap.get(word));
          }
        });
      } else {
        heap.engine().update([&] { heap.set(i % 8, heap.get(i % 8) + 1); });
      }
    }
  });
  const SimCounters counters = machine.statistics();
  auto time = [&](TransactionKind kind, size_t phase) {
    return counters.of_kind[static_cast<size_t>(kind)].phase_time[phase];
  };
  // Updates wait, in several phases. Readers only execute their bodies.
  EXPECT_GT(time(TransactionKind::update, static_cast<size_t>(Phase::durability_wait)), 0U);
  EXPECT_GT(time(TransactionKind::read, static_cast<size_t>(Phase::execute)), 0U);
  for (size_t phase = 0; phase < kPhases; ++phase) {
    if (static_cast<Phase>(phase) != Phase::execute) {
      EXPECT_EQ(time(TransactionKind::read, phase), 0U) << to_string(static_cast<Phase>(phase));
    }
  }
  EXPECT_EQ(heap.engine().statistics().read_commits, 40U);
}

/// While one reader's body runs, updates overwrite what it is about to read, hundreds of times.
TEST(FurMv, ALongReaderKeepsItsSnapshotAndHoldsUpNobody) {
  SimMachine machine(machine_with(2));
  // One version at a time: they are reused as soon as no reader needs them.
  Heap heap = make_heap(machine, {{"versions", "1"}, {"log_bytes", "512"}, {"markers", "16"}});
  heap.format().check();
  heap.recover().check();
  using Flag = SimMachine::Atomic<uint64_t>;
  Flag* const step = make_object<Flag>(machine);
  machine.run_threads(2, [&](int number) {
    if (number == 0) {
      heap.engine().update([&] { heap.set(0, 1), heap.set(64, 1); });
      heap.engine().read([&] {
        EXPECT_EQ(heap.get(0), 1U);
        step->store(1);
        while (machine.wait_while(*step, uint64_t{1}) == 1) {
        }
        EXPECT_EQ(heap.get(64), 1U);
        EXPECT_EQ(heap.get(0), 1U);
      });
      heap.engine().read([&] { EXPECT_EQ(heap.get(64), 301U); });
      return;
    }
    while (machine.wait_while(*step, uint64_t{0}) == 0) {
    }
    for (uint64_t i = 2; i <= 301; ++i) {
      heap.engine().update([&] { heap.set(0, i), heap.set(64, i); });
    }
    step->store(2);
  });
}

TEST(FurMv, NoNumberIsTakenInVain) {
  SimMachine machine(machine_with(3, 5));
  Heap heap = make_heap(machine, {{"stripes", "16"}});
  heap.format().check();
  heap.recover().check();
  machine.run_threads(3, [&](int) {
    for (int i = 0; i < 30; ++i) {
      heap.engine().update([&] { heap.set(0, heap.get(0) + 1); });
    }
  });
  heap.engine().read([&] { EXPECT_EQ(heap.get(0), 90U); });
  const Statistics s = heap.engine().statistics();
  EXPECT_GT(s.aborts[static_cast<size_t>(AbortCause::conflict)], 0U) << "the test needs conflicts";
  // One record of two words and one marker each, and nothing for attempts that lost.
  EXPECT_EQ(s.bytes_written - s.replayed * 8,
            90 * (16 + DurabilityMarkers<SimMachine>::kStoredBytes));
}

TEST(FurMvVersions, AreReusedOnceEverySnapshotHasPassedThem) {
  SimMachine machine(machine_with(1));
  machine.run_threads(1, [&](int) {
    SnapshotPins<SimMachine> pins(machine, machine.slots());
    VersionStore<SimMachine> store(machine, pins, 2);
    pins.advance(3);
    pins.pin(0);  // a snapshot of 3 or later
    for (uint64_t number = 4; number <= 11; ++number) {
      static_cast<void>(store.take(number));
      pins.advance(number);
    }
    EXPECT_EQ(store.versions(), 8U);  // all are needed
    pins.unpin(0);
    for (uint64_t number = 12; number <= 40; ++number) {
      static_cast<void>(store.take(number));
      pins.advance(number);
    }
    EXPECT_EQ(store.versions(), 8U);  // none was added
  });
}

TEST(FurMvVersions, AVersionOfTheSnapshotIsFoundAmongOthersOfTheStripe) {
  SimMachine machine(machine_with(1));
  using Table = VersionTable<SimMachine>;
  machine.run_threads(1, [&](int) {
    const Table table(machine, 16);
    Table::Stripe& stripe = table.of(0);
    uint64_t* const words = make_array<uint64_t>(machine, 2);
    Version* const v = make_array<Version>(machine, 3);
    auto address = [](const void* p) { return reinterpret_cast<uintptr_t>(p); };
    // Word 0 was 10 until transaction 5, 20 until transaction 9; word 1 was 30 until transaction 7.
    v[0] = {address(&words[0]), 10, 5, 0, 0};
    v[1] = {address(&words[1]), 30, 7, address(&v[0]), 5};
    v[2] = {address(&words[0]), 20, 9, address(&v[1]), 7};
    stripe.head.store(address(&v[2]));
    auto at = [&](int word, uint64_t snapshot) {
      return Table::at(stripe, 9, &words[word], 99, snapshot);
    };
    EXPECT_EQ(at(0, 4), 10U);
    EXPECT_EQ(at(0, 5), 20U);
    EXPECT_EQ(at(0, 8), 20U);
    EXPECT_EQ(at(1, 6), 30U);
    EXPECT_EQ(at(1, 7), 99U);  // overwritten before the snapshot: what is in place counts
    EXPECT_EQ(at(1, 8), 99U);
  });
}

TEST(FurMvOptions, RefusesWhatMakesNoSense) {
  for (const Options& bad :
       {Options{{"stripes", "8"}}, Options{{"stripes", "many"}}, Options{{"versions", "0"}},
        Options{{"retries", "1001"}}, Options{{"markers", "3"}}, Options{{"log_bytes", "100"}}}) {
    EXPECT_FALSE(fur_mv_area_bytes(bad, 10).ok()) << bad.begin()->first;
  }
  EXPECT_TRUE(fur_mv_area_bytes({}, 10).ok());
}

/// An update that runs alone stores in place. Readers beside it see their snapshot, whether it
/// commits or fails, and small updates wait for it.
TEST(FurMv, ALargeUpdateIsSeenWholeAndAFailedOneNever) {
  constexpr size_t kWords = 100;
  constexpr size_t kLoan = 8 * kPageBytes;
  uint64_t overlaps = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SimMachine machine(machine_with(3, seed));
    Heap heap = make_heap(machine, {{"log_bytes", "512"}, {"markers", "64"}});
    heap.format().check();
    heap.recover().check();
    bool running = false;
    machine.run_threads(3, [&](int number) {
      if (number == 0) {
        heap.engine().update([&] { heap.engine().lend({kLoan, kLoan}); });
        for (uint64_t value = 1; value <= 4; ++value) {
          const auto store_all = [&](bool fails) {
            running = true;
            for (size_t i = 0; i < kWords; ++i) {
              heap.set(2 * i, 10 * value + (fails ? 5 : 0));
            }
            running = false;
            if (fails) {
              throw value;
            }
          };
          uint64_t seen = 0;
          EXPECT_THROW(heap.engine().update([&] {
            seen = heap.get(1);
            store_all(true);
          }),
                       uint64_t);
          EXPECT_GE(heap.read(1), seen) << "seed " << seed;
          heap.engine().update([&] { store_all(false); });
        }
        heap.engine().update([&] { heap.engine().lend({}); });
        return;
      }
      for (uint64_t i = 0; i < 40; ++i) {
        if (number == 1) {
          heap.engine().read([&] {
            overlaps += running ? 1 : 0;
            const uint64_t first = heap.get(0);
            EXPECT_EQ(first % 10, 0u);
            for (size_t k = 1; k < kWords; k += 7) {
              ASSERT_EQ(heap.get(2 * k), first) << "seed " << seed;
            }
          });
        } else {
          heap.engine().update([&] {
            EXPECT_FALSE(running);
            heap.set(1, heap.get(1) + 1);
            EXPECT_FALSE(running);
          });
        }
      }
    });
    EXPECT_EQ(heap.read(0), 40u);
    EXPECT_EQ(heap.read(1), 40u);
    const Statistics s = heap.engine().statistics();
    EXPECT_EQ(s.user_aborts, 4u);
    EXPECT_EQ(s.aborts[static_cast<size_t>(AbortCause::conflict)], 0u) << "who waits has not lost";
  }
  EXPECT_GT(overlaps, 0u) << "no reader ran beside a large update";
}

}  // namespace
}  // namespace holdfast::fur_mv_test
