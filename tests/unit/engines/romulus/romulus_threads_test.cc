// SPDX-License-Identifier: Apache-2.0
//
// Do the Romulus engines keep their promises to many threads, under thousands of schedules?
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "holdfast/engines/romulus/romulus.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::romulus_threads_test {
namespace {

constexpr size_t kFar = 1000;

template <class E>
class RomulusThreads : public ::testing::Test {
 protected:
  static constexpr bool kLeftRight = std::is_same_v<E, RomulusLr<SimMachine>>;

  /// Runs f(heap, worker) on `threads` workers under each of `seeds` schedules.
  template <class Work, class After>
  static void schedules(uint64_t seeds, int threads, SimOptions options, Work&& work,
                        After&& after) {
    options.threads = threads;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      options.seed = seed;
      SimMachine machine(options);
      EngineFixture<E> heap(machine);
      heap.format().check();
      machine.run_threads(threads, [&](int worker) { work(heap, worker); });
      after(heap);
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }
};

using Engines =
    ::testing::Types<Romulus<SimMachine>, RomulusLog<SimMachine>, RomulusLr<SimMachine>>;
TYPED_TEST_SUITE(RomulusThreads, Engines);

TYPED_TEST(RomulusThreads, ABatchCostsFourFencesHoweverManyItServes) {
  uint64_t combined = 0;
  this->schedules(
      200, 4, {},
      [](auto& heap, int worker) {
        for (int i = 0; i < 5; ++i) {
          heap.engine().update([&] {
            heap.set(kFar, heap.get(kFar) + 1);
            heap.set(static_cast<size_t>(worker) * 20, 1);
          });
        }
      },
      [&](auto& heap) {
        const auto s = heap.engine().statistics();
        const auto cost = heap.machine().counters();
        EXPECT_EQ(heap.read(kFar), 20u);
        EXPECT_EQ(s.update_commits, 20u);
        EXPECT_EQ(cost.pfence, 3 * s.batches);
        EXPECT_EQ(cost.psync, s.batches + 1);  // one by format
        EXPECT_EQ(s.bytes_stored, sizeof(uint64_t) * 2 * 20);
        combined += s.update_commits - s.batches;
      });
  EXPECT_GT(combined, 1000u);  // or nothing was shown about batches
}

TYPED_TEST(RomulusThreads, ReadersNeverSeeHalfATransaction) {
  uint64_t reads = 0;
  this->schedules(
      300, 4, {},
      [&](auto& heap, int worker) {
        uint64_t last = 0;
        for (uint64_t i = 1; i <= 8; ++i) {
          if (worker < 2) {
            heap.engine().update([&] {
              const uint64_t next = heap.get(3) + 1;
              heap.set(3, next);
              heap.set(kFar, next);
            });
          } else {
            heap.engine().read([&] {
              const uint64_t a = heap.get(kFar);
              const uint64_t b = heap.get(3);
              EXPECT_EQ(a, b);
              EXPECT_GE(a, last) << "time ran backwards";
              last = a;
            });
            ++reads;
          }
        }
      },
      [](auto& heap) {
        EXPECT_EQ(heap.read(3), 16u);
        EXPECT_EQ(heap.engine().statistics().read_commits, 17u);
        heap.engine().compare_copies().check();
      });
  EXPECT_EQ(reads, 300u * 16);
}

/// A thread that learns of a commit, by any means, must see it.
TYPED_TEST(RomulusThreads, AnAcknowledgedUpdateIsVisible) {
  uint64_t told = 0;
  this->schedules(
      300, 3, {},
      [&](auto& heap, int worker) {
        for (uint64_t i = 1; i <= 8; ++i) {
          if (worker < 2) {
            uint64_t value = 0;
            heap.engine().update([&] {
              value = heap.get(3) + 1;
              heap.set(3, value);
            });
            told = std::max(told, value);
          }
          const uint64_t known = told;
          EXPECT_GE(heap.read(3), known);
        }
      },
      [&](auto&) { told = 0; });
}

TYPED_TEST(RomulusThreads, EachExceptionReachesItsCallerAndUndoesOnlyItsBody) {
  uint64_t combined_with_a_thrower = 0;
  this->schedules(
      300, 4, {},
      [](auto& heap, int worker) {
        const size_t own = static_cast<size_t>(worker) + 1;
        for (int i = 0; i < 6; ++i) {
          const bool throws = (i + worker) % 2 == 0;
          std::string caught;
          try {
            heap.engine().update([&] {
              heap.set(0, heap.get(0) + 1);
              heap.set(own, heap.get(own) + 1);
              if (throws) {
                throw std::runtime_error(std::to_string(worker));
              }
            });
          } catch (const std::runtime_error& e) {
            caught = e.what();
          }
          EXPECT_EQ(caught, throws ? std::to_string(worker) : "");
        }
      },
      [&](auto& heap) {
        EXPECT_EQ(heap.read(0), 12u);
        for (size_t worker = 1; worker <= 4; ++worker) {
          EXPECT_EQ(heap.read(worker), 3u);
        }
        heap.engine().compare_copies().check();
        const auto s = heap.engine().statistics();
        EXPECT_EQ(s.user_aborts, 12u);
        // A thrower alone costs two fences, one in a batch with others none of its own.
        combined_with_a_thrower +=
            heap.machine().counters().pfence < 3 * s.batches + 2 * s.user_aborts;
      });
  EXPECT_GT(combined_with_a_thrower, 10u);
}

/// A writer stands still in the middle of its body, after storing, until all readers have finished.
template <class E>
uint64_t read_beside_a_paused_writer() {
  SimMachine machine({.threads = 3});
  EngineFixture<E> heap(machine);
  heap.format().check();
  heap.write(3, 1);
  auto* finished = make_array<SimMachine::Atomic<uint64_t>>(machine, 2);
  uint64_t sum = 0;
  machine.run_threads(3, [&](int worker) {
    if (worker == 0) {
      heap.engine().update([&] {
        heap.set(3, 2);
        finished[1].store(1);
        for (uint64_t n = finished[0].load(); n < 2; n = machine.wait_while(finished[0], n)) {
        }
      });
    } else {
      machine.wait_while(finished[1], 0);
      for (int i = 0; i < 10; ++i) {
        sum += heap.read(3);
      }
      finished[0].fetch_add(1);
    }
  });
  return sum;
}

TEST(RomulusLrThreads, ReadersPassAPausedWriter) {
  EXPECT_EQ(read_beside_a_paused_writer<RomulusLr<SimMachine>>(), 20u);  // the value before
}

TEST(RomulusLogThreads, ReadersDoNotPassAPausedWriter) {  // so the test above shows something
  EXPECT_THROW(read_beside_a_paused_writer<RomulusLog<SimMachine>>(), SimStuck);
}

TYPED_TEST(RomulusThreads, AFailedMediumReachesEverybodyAndStopsAllStores) {
  for (const Domain domain : {Domain::pmem, Domain::file}) {
    for (const uint64_t failing : {2u, 3u, 4u, 5u, 8u, 11u}) {
      SCOPED_TRACE(std::string(to_string(domain)) + " sync " + std::to_string(failing));
      this->schedules(
          30, 3, {.domain = domain, .fail_sync_at = failing},
          [&](auto& heap, int worker) {
            const size_t own = static_cast<size_t>(worker) + 1;
            const auto loop = [&] {
              for (;;) {
                heap.engine().update([&] {
                  try {
                    heap.set(0, heap.get(0) + 1);
                  } catch (const MediumFailure&) {  // a careless body, which even goes on
                    SimMachine& machine = heap.machine();
                    const uint64_t bytes = machine.counters().bytes;
                    const uint64_t stores = machine.statistics(machine.self()).stores;
                    EXPECT_THROW(heap.set(own, 1), MediumFailure);
                    EXPECT_EQ(machine.counters().bytes, bytes);
                    EXPECT_EQ(machine.statistics(machine.self()).stores, stores);
                    if (worker == 1) {
                      throw 1;
                    }
                  }
                });
              }
            };
            EXPECT_THROW(loop(), MediumFailure);
            const uint64_t bytes = heap.machine().counters().bytes;
            EXPECT_THROW(heap.engine().update([&] { heap.set(0, 0); }), MediumFailure);
            EXPECT_EQ(heap.machine().counters().bytes, bytes);
            EXPECT_EQ(SimMachine::context(), nullptr);
          },
          [](auto& heap) { EXPECT_FALSE(heap.engine().close().ok()); });
    }
  }
}

}  // namespace
}  // namespace holdfast::romulus_threads_test
