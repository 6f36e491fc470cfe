// SPDX-License-Identifier: Apache-2.0
//
// Does a Romulus engine recover, from every image a power cut can leave, to exactly the
// acknowledged transactions and at most those in flight?
#include <gtest/gtest.h>

#include <vector>

#include "holdfast/engines/romulus/romulus.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/sanitized.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::romulus_crash_test {
namespace {

constexpr int kWorkers = 2;
constexpr uint64_t kTransactions = 3;
constexpr size_t kGroup = 4;          // words a worker sets to the number of its transaction
constexpr size_t kSums[] = {70, 93};  // words that count all transactions
constexpr size_t kUndone = 110;       // set only by bodies that throw
constexpr size_t kBytes = kPageBytes;

/// The answers that clients have when the power fails.
struct Seen {
  uint64_t acknowledged[kWorkers] = {};
  uint64_t read = 0;  // largest sum any reader was shown
};

/// Workers' words share lines, so that stores of one worker ride on write-backs of the other.
size_t word_of(int worker, size_t i) {
  return i * 13 + static_cast<size_t>(worker);
}

template <class E>
void transact(EngineFixture<E>& heap, int worker, Seen& seen) {
  for (uint64_t t = 1; t <= kTransactions; ++t) {
    heap.engine().update([&] {
      for (size_t i = 0; i < kGroup; ++i) {
        heap.set(word_of(worker, i), t);
      }
      for (const size_t sum : kSums) {
        heap.set(sum, heap.get(sum) + 1);
      }
    });
    seen.acknowledged[worker] = t;
    if (worker == 1) {
      EXPECT_THROW(heap.engine().update([&] {
        heap.set(word_of(worker, 0), 99);
        heap.set(kUndone, 99);
        throw 1;
      }),
                   int);
    }
    seen.read = std::max(seen.read, heap.read(kSums[0]));
  }
}

template <class E>
void check(EngineFixture<E>& heap, const Seen& seen) {
  heap.engine().compare_copies().check();
  uint64_t total = 0;
  for (int worker = 0; worker < kWorkers; ++worker) {
    const uint64_t t = heap.read(word_of(worker, 0));
    for (size_t i = 1; i < kGroup; ++i) {
      ASSERT_EQ(heap.read(word_of(worker, i)), t) << "half a transaction survived";
    }
    ASSERT_GE(t, seen.acknowledged[worker]) << "an acknowledged transaction was lost";
    ASSERT_LE(t, seen.acknowledged[worker] + 1);
    total += t;
  }
  for (const size_t sum : kSums) {
    ASSERT_EQ(heap.read(sum), total);
  }
  ASSERT_GE(total, seen.read) << "what a reader was shown was lost";
  ASSERT_EQ(heap.read(kUndone), 0u) << "a body that threw left a trace";
}

std::vector<SimImage> images_of(const SimMachine& machine, uint64_t seed, int samples) {
  std::vector<SimImage> images{machine.earliest_image(), machine.latest_image()};
  Random random(seed);
  for (int i = 0; i < samples; ++i) {
    images.push_back(machine.sample_image(random));
  }
  return images;
}

/// Recovers, checks, and checks that the heap goes on working.
template <class E>
void recover_and_check(const SimImage& image, const Seen& seen) {
  SimMachine machine({}, image);
  EngineFixture<E> heap(machine, {.bytes = kBytes});
  const Status status = heap.recover();
  ASSERT_TRUE(status.ok()) << status.to_string();
  check(heap, seen);
  heap.write(120, 5);
  ASSERT_EQ(heap.read(120), 5u);
  heap.engine().compare_copies().check();
}

/// Runs the workload until just before `event`; false when it ended before.
template <class E>
bool run_until(uint64_t event, SimOptions options, const Options& engine_options, Seen& seen,
               std::vector<SimImage>& images) {
  options.threads = kWorkers;
  SimMachine machine(options);
  EngineFixture<E> heap(machine, {.options = engine_options, .bytes = kBytes});
  heap.format().check();
  machine.crash_at(event);
  machine.run_threads(kWorkers, [&](int worker) { transact(heap, worker, seen); });
  images = images_of(machine, mix64(event ^ options.seed), 4);
  return machine.crashed();
}

template <class E>
void sweep(const SimOptions& options, const Options& engine_options = {}) {
  bool crashed = true;
  uint64_t event = 0;
  for (; crashed; event += kStep) {
    SCOPED_TRACE("seed " + std::to_string(options.seed) + " event " + std::to_string(event));
    Seen seen;
    std::vector<SimImage> images;
    crashed = run_until<E>(event, options, engine_options, seen, images);
    for (const SimImage& image : images) {
      recover_and_check<E>(image, seen);
      if (::testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
  EXPECT_GT(event, 50u);
}

template <class E>
class RomulusCrash : public ::testing::Test {};
using Engines =
    ::testing::Types<Romulus<SimMachine>, RomulusLog<SimMachine>, RomulusLr<SimMachine>>;
TYPED_TEST_SUITE(RomulusCrash, Engines);

TYPED_TEST(RomulusCrash, EveryPersistEvent) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    sweep<TypeParam>({.seed = seed});
  }
}

TYPED_TEST(RomulusCrash, EveryPersistEventWithoutFencingAtomics) {
  sweep<TypeParam>({.seed = 4, .rmw_orders_pwb = false});
}

TYPED_TEST(RomulusCrash, EveryPersistEventWithPersistentCaches) {
  sweep<TypeParam>({.seed = 5, .domain = Domain::eadr});
}

TYPED_TEST(RomulusCrash, EveryPersistEventOnADisk) {
  sweep<TypeParam>({.seed = 6, .domain = Domain::file});
}

TYPED_TEST(RomulusCrash, EveryPersistEventWithoutCombining) {
  sweep<TypeParam>({.seed = 7}, {{"combine", "0"}});
}

TYPED_TEST(RomulusCrash, PersistEventsOfRecovery) {
  uint64_t repeated = 0;
  for (uint64_t event = 3;; event += 9 * kStep) {
    Seen seen;
    std::vector<SimImage> images;
    if (!run_until<TypeParam>(event, {.seed = 8}, {}, seen, images)) {
      break;
    }
    images.resize(3);
    for (const SimImage& image : images) {
      bool crashed = true;
      for (uint64_t second = 0; crashed; second += second < 4 ? 1 : 9) {
        SCOPED_TRACE("event " + std::to_string(event) + ", recovery event " +
                     std::to_string(second));
        std::vector<SimImage> later;
        {
          SimMachine machine({.seed = 1 + second}, image);
          EngineFixture<TypeParam> heap(machine, {.bytes = kBytes});
          machine.crash_at(second);
          machine.run_threads(1, [&](int) { heap.recover().check(); });
          crashed = machine.crashed();
          later = images_of(machine, second, 2);
        }
        repeated += crashed;
        for (const SimImage& after : later) {
          recover_and_check<TypeParam>(after, seen);
          if (this->HasFatalFailure()) {
            return;
          }
        }
      }
    }
  }
  EXPECT_GT(repeated, 100 / kStep);
}

/// A batch that touches bytes far beyond all earlier ones: recovery must restore those as well.
/// Some copy everything, which takes thousands of events, so this looks at each of the first and
/// then at fewer and fewer.
TYPED_TEST(RomulusCrash, ABatchThatOutgrowsTheHeap) {
  constexpr size_t kLarge = 80 * kPageBytes;
  constexpr size_t kLast = kLarge / sizeof(uint64_t) - 1;
  bool crashed = true;
  for (uint64_t event = 0; crashed; event += kStep + event / 20) {
    SCOPED_TRACE("event " + std::to_string(event));
    std::vector<SimImage> images;
    bool acknowledged = false;
    {
      SimMachine machine;
      EngineFixture<TypeParam> heap(machine, {.bytes = kLarge});
      heap.format().check();
      machine.crash_at(event);
      machine.run_threads(1, [&](int) {
        heap.engine().update([&] {
          heap.set(0, 1);
          heap.set(kLast / 2 + 1, 1);
          heap.set(kLast, 1);
        });
        acknowledged = true;
      });
      crashed = machine.crashed();
      images = images_of(machine, event, 4);
    }
    for (const SimImage& image : images) {
      SimMachine machine({}, image);
      EngineFixture<TypeParam> heap(machine, {.bytes = kLarge});
      heap.recover().check();
      heap.engine().compare_copies().check();
      const uint64_t value = heap.read(0);
      ASSERT_TRUE(value == 1 || !acknowledged);
      ASSERT_EQ(heap.read(kLast / 2 + 1), value);
      ASSERT_EQ(heap.read(kLast), value);
    }
  }
}

}  // namespace
}  // namespace holdfast::romulus_crash_test
