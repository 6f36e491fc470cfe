// SPDX-License-Identifier: Apache-2.0
//
// Who waits for whom in the Romulus engines, and for how long? Counted in a thread's own memory
// operations (SimMachine::statistics(slot)), which is what wait-free and bounded are about, under
// all schedules of small programs and thousands of random ones of larger ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "holdfast/engines/parts/isolation/combining/flat_combining.h"
#include "holdfast/engines/romulus/romulus.h"
#include "holdfast/engines/undo/undo.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/machine/sim/support/host_pages.h"
#include "tests/sanitized.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::romulus_progress_test {
namespace {

/// Counts of the running test, which makes thousands of machines.
std::shared_ptr<sim::HostPages> pages;

class Progress : public ::testing::Test {
 protected:
  void SetUp() override { pages = std::make_shared<sim::HostPages>(); }
  void TearDown() override { pages.reset(); }
};
using RomulusLrProgress = Progress;
using RomulusLogProgress = Progress;
using UndoProgress = Progress;
using FlatCombiningProgress = Progress;

/// The state of the thread that asks, or of another one.
uint64_t operations(const SimMachine& machine, int slot) {
  return machine.statistics(slot).memory_operations();
}

// ---- readers

constexpr uint64_t kLoads = 1;  // in a reader's body
/// Arrive: load and store the own counter. Look at the side. Depart: load and store the counter.
constexpr uint64_t kReaderSteps = 5;

/// The results of all schedules of one update beside readers, seen by the first of them.
struct Passes {
  std::set<uint64_t> steps;  ///< of one read-only transaction
  /// How far writer and other reader were, in steps, while neither of them moved.
  std::set<std::pair<uint64_t, uint64_t>> parked;
  uint64_t writer_steps = 0;  ///< of a whole update
  uint64_t schedules = 0;

  std::set<uint64_t> writer_parked() const {
    std::set<uint64_t> at;
    for (const auto& [writer, reader] : parked) {
      at.insert(writer);
    }
    return at;
  }
};

/// Worker 0 updates, the others read: under all schedules with so many preemptions. A thread that
/// was preempted stands still until another one ends or waits.
template <class E>
Passes all_schedules(int threads, const ScheduleBounds& bounds) {
  Passes passes;
  auto explorer = std::make_shared<ScheduleExplorer>(bounds);
  while (explorer->next()) {
    SimMachine machine({.threads = threads,
                        .schedule = Schedule::exhaustive,
                        .explorer = explorer,
                        .max_steps = 100'000,
                        .pages = pages});
    EngineFixture<E> heap(machine, {.bytes = kPageBytes});
    heap.format().check();
    std::array<int, 3> slot{-1, -1, -1};
    const auto steps_of = [&](size_t worker) {
      return slot[worker] < 0 ? 0 : operations(machine, slot[worker]);
    };
    machine.run_threads(threads, [&](int worker) {
      const auto self = static_cast<size_t>(worker);
      slot[self] = machine.self();
      if (worker == 0) {
        heap.write(3, 1);
        passes.writer_steps = steps_of(0);
        return;
      }
      const std::array before{steps_of(0), steps_of(1), steps_of(2)};
      heap.read(3);
      if (worker == 1) {
        const std::array after{steps_of(0), steps_of(1), steps_of(2)};
        passes.steps.insert(after[1] - before[1]);
        if (before[0] == after[0] && before[2] == after[2]) {
          passes.parked.emplace(before[0], before[2]);
        }
      }
    });
  }
  passes.schedules = explorer->schedules();
  return passes;
}

/// The number of a reader's own steps is the same whatever the writer does, wherever it stands, and
/// if it never goes on: while the reader reads, the writer makes no step.
TEST_F(RomulusLrProgress, AReaderPassesAWriterPausedAnywhere) {
  const Passes passes = all_schedules<RomulusLr<SimMachine>>(2, {.preemptions = 1, .drains = 1});
  EXPECT_EQ(passes.steps, std::set<uint64_t>{kReaderSteps + kLoads});
  // Before its first step and at each one; the two exchanges of the lock's word are counted after
  // they have taken place, and not told apart from the step before.
  EXPECT_EQ(passes.writer_parked().size(), passes.writer_steps + 1 - 2);
  std::printf("%d schedules; an update of %d steps, paused at %d points\n",
              static_cast<int>(passes.schedules), static_cast<int>(passes.writer_steps),
              static_cast<int>(passes.writer_parked().size()));
}

TEST_F(RomulusLrProgress, AndOtherReadersPausedAnywhere) {
  if (kSanitized) {
    GTEST_SKIP() << "the same code again, in each of some 65,000 schedules";
  }
  const Passes passes = all_schedules<RomulusLr<SimMachine>>(3, {.preemptions = 2, .drains = 0});
  EXPECT_EQ(passes.steps, std::set<uint64_t>{kReaderSteps + kLoads});
  std::set<uint64_t> readers;
  for (const auto& [writer, reader] : passes.parked) {
    readers.insert(reader);
  }
  EXPECT_EQ(readers.size(),
            kReaderSteps + kLoads);  // before its second step, third, ..., after all
  // Both at once: a writer that waits for the paused reader moves no further.
  EXPECT_GT(passes.parked.size(), 4 * passes.writer_steps);
  std::printf("%d schedules, %d pairs of points\n", static_cast<int>(passes.schedules),
              static_cast<int>(passes.parked.size()));
}

/// So that the tests above show something: where readers and the writer share one copy, a reader
/// waits for a writer that has begun.
TEST_F(RomulusLogProgress, AReaderWaitsForAWriterPausedInside) {
  const Passes passes = all_schedules<RomulusLog<SimMachine>>(2, {.preemptions = 1, .drains = 1});
  EXPECT_GT(passes.steps.size(), 1u);
  EXPECT_LT(passes.writer_parked().size(), passes.writer_steps * 2 / 3);
}

/// Population-oblivious: as many steps beside 63 other threads as alone.
TEST_F(RomulusLrProgress, AReadersStepsDoNotDependOnTheNumberOfThreads) {
  uint64_t reads = 0;
  for (const int threads : {1, 2, 4, 16, 64}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SimMachine machine({.threads = threads, .seed = seed, .pages = pages});
      EngineFixture<RomulusLr<SimMachine>> heap(machine, {.bytes = kPageBytes});
      heap.format().check();
      machine.run_threads(threads, [&](int worker) {
        for (int i = 0; i < 4; ++i) {
          if (worker % 4 == 1) {
            heap.write(3, 1);
            continue;
          }
          const uint64_t before = operations(machine, machine.self());
          heap.read(3);
          ASSERT_EQ(operations(machine, machine.self()) - before, kReaderSteps + kLoads)
              << threads << " threads, seed " << seed;
          ++reads;
        }
      });
    }
  }
  EXPECT_GT(reads, 4000u);
}

// ---- writers

/// So many loads and stores after it has called update(), a requester's body stands in its slot for
/// combiners to see, or it has the lock: it looks at the lock, announces, and is about to look
/// again (a step is counted when the thread comes to it).
constexpr uint64_t kDoorway = 3;

/// Follows every update from its call to the execution of its body, on whatever thread.
class Bypasses {
 public:
  Bypasses(const SimMachine& machine, int threads)
      : machine_(machine), pending_(static_cast<size_t>(threads)) {}

  void called(int thread) {
    Pending& own = of(thread);
    own = {.active = true,
           .slot = machine_.self(),
           .steps = accesses(machine_.self()),
           .behind = std::vector<bool>(pending_.size()),
           .overtaken = std::vector<int>(pending_.size())};
    for (size_t other = 0; other < pending_.size(); ++other) {
      // Behind those whose request was published before this call.
      own.behind[other] = &pending_[other] != &own && published(pending_[other]);
    }
  }

  /// `passes`: batches that have ended so far.
  void executed(int thread, uint64_t passes) {
    Pending& own = of(thread);
    int all = 0;
    for (const int times : own.overtaken) {
      most_of_one = std::max(most_of_one, times);
      all += times;
    }
    most_of_all = std::max(most_of_all, all);
    if (own.seen) {
      most_passes = std::max(most_passes, passes - own.passes);
    }
    own.active = false;
    for (size_t i = 0; i < pending_.size(); ++i) {
      Pending& other = pending_[i];
      if (!published(other)) {
        continue;
      }
      if (!other.seen) {
        other.seen = true;
        other.passes = passes;
      }
      if (own.behind[i] && other.active) {
        ++other.overtaken[static_cast<size_t>(thread)];
        ++overtakings;
      }
      own.behind[i] = false;
    }
  }

  int most_of_one = 0;       ///< updates of one other thread that overtook one update
  int most_of_all = 0;       ///< updates of all other threads that overtook one
  uint64_t most_passes = 0;  ///< batches that ended between publication and execution
  uint64_t overtakings = 0;

 private:
  struct Pending {
    bool active = false;
    int slot = -1;
    uint64_t steps = 0;  ///< loads and stores before
    std::vector<bool> behind;
    std::vector<int> overtaken;  ///< by thread
    bool seen = false;           ///< by another one's execution, published
    uint64_t passes = 0;         ///< at that time
  };

  Pending& of(int thread) { return pending_[static_cast<size_t>(thread)]; }
  uint64_t accesses(int slot) const {
    const SimCounters counters = machine_.statistics(slot);
    return counters.loads + counters.stores;
  }
  bool published(const Pending& p) const {
    return p.active && accesses(p.slot) - p.steps >= kDoorway;
  }

  const SimMachine& machine_;
  std::vector<Pending> pending_;
};

template <class E>
void update_watched(EngineFixture<E>& heap, Bypasses& bypasses, int thread) {
  bypasses.called(thread);
  heap.engine().update([&] {
    bypasses.executed(thread, heap.engine().statistics().batches);
    heap.set(3, heap.get(3) + 1);
  });
}

template <class E>
class RomulusProgress : public Progress {};
using Engines =
    ::testing::Types<Romulus<SimMachine>, RomulusLog<SimMachine>, RomulusLr<SimMachine>>;
TYPED_TEST_SUITE(RomulusProgress, Engines);

/// Once published, a request is overtaken at most twice by each other thread: once in the batch
/// that is running (whose combiner has passed the slot), and once in the next one, which serves it.
/// That holds for any combiner and any number of readers.
constexpr int kBypassesByOne = 2;

struct Crowd {
  int writers;
  int readers;
  double switch_probability;  ///< small: one thread makes many steps while others stand still
};

template <class E>
Bypasses run_crowd(const Crowd& crowd, uint64_t seed, const Options& options = {}) {
  const int threads = crowd.writers + crowd.readers;
  SimMachine machine({.threads = threads,
                      .seed = seed,
                      .switch_probability = crowd.switch_probability,
                      .pages = pages});
  EngineFixture<E> heap(machine, {.options = options, .bytes = kPageBytes, .max_threads = threads});
  heap.format().check();
  Bypasses bypasses(machine, crowd.writers);
  std::atomic<int> writing = crowd.writers;
  machine.run_threads(threads, [&](int worker) {
    if (worker < crowd.writers) {
      for (int i = 0; i < 12; ++i) {
        update_watched(heap, bypasses, worker);
      }
      --writing;
    } else {
      while (writing > 0) {  // without end, if they could keep writers out
        heap.read(3);
      }
    }
  });
  EXPECT_EQ(heap.read(3), static_cast<uint64_t>(crowd.writers) * 12);
  return bypasses;
}

TYPED_TEST(RomulusProgress, APublishedUpdateIsOvertakenTwiceByAThreadAtMost) {
  uint64_t overtakings = 0;
  for (const Crowd& crowd :
       {Crowd{2, 0, 0.25}, Crowd{4, 0, 0.25}, Crowd{4, 0, 0.02}, Crowd{4, 4, 0.25},
        Crowd{3, 5, 0.05}, Crowd{12, 0, 0.1}, Crowd{2, 14, 0.1}}) {
    int most_of_one = 0;
    int most_of_all = 0;
    uint64_t most_passes = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      const Bypasses b = run_crowd<TypeParam>(crowd, seed);
      ASSERT_LE(b.most_of_one, kBypassesByOne) << "seed " << seed;
      ASSERT_LE(b.most_of_all, kBypassesByOne * (crowd.writers - 1)) << "seed " << seed;
      // Executed in the batch that runs at its publication, or in the next one.
      ASSERT_LE(b.most_passes, 1u) << "seed " << seed;
      most_of_one = std::max(most_of_one, b.most_of_one);
      most_of_all = std::max(most_of_all, b.most_of_all);
      most_passes = std::max(most_passes, b.most_passes);
      overtakings += b.overtakings;
    }
    std::printf("%d writers, %d readers: at most %d by one thread, %d by all, %d batches\n",
                crowd.writers, crowd.readers, most_of_one, most_of_all,
                static_cast<int>(most_passes));
  }
  EXPECT_GT(overtakings, 1000u);  // or nothing was shown
}

/// So that the test above shows something: behind the plain lock of another engine there is no such
/// bound.
TEST_F(UndoProgress, AnUpdateIsOvertakenMoreOftenByAThreadThatComesBack) {
  int most = 0;
  for (uint64_t seed = 1; seed <= 50 && most <= kBypassesByOne; ++seed) {
    most = run_crowd<Undo<SimMachine>>({4, 0, 0.02}, seed).most_of_one;
  }
  EXPECT_GT(most, kBypassesByOne);
}

/// The adversary: the combiner alone, under all schedules in which threads stand still for as long
/// as they like at four points, which is what it takes for one request to be overtaken.
TEST_F(FlatCombiningProgress, ARequestOfAThreadPausedAnywhereIsOvertakenTwiceAtMost) {
  auto explorer = std::make_shared<ScheduleExplorer>(ScheduleBounds{.preemptions = 4, .drains = 0});
  int most_of_one = 0;
  uint64_t overtakings = 0;
  while (explorer->next()) {
    SimMachine machine({.threads = 2,
                        .schedule = Schedule::exhaustive,
                        .explorer = explorer,
                        .max_steps = 10'000,
                        .pages = pages});
    FlatCombining<SimMachine> combining(machine, true);
    Bypasses bypasses(machine, 2);
    uint64_t batches = 0;
    machine.run_threads(2, [&](int worker) {
      for (int i = worker; i < 2; ++i) {  // two requests, and one
        bypasses.called(worker);
        auto body = [&] { bypasses.executed(worker, batches); };
        FlatCombining<SimMachine>::Request request{.body = body, .error = nullptr};
        combining.execute(machine.self(), request, [&](auto& own) {
          own.body();
          combining.take_others(machine.self(), [](auto& other) { other.body(); });
          combining.answer(0);
          ++batches;
        });
      }
    });
    most_of_one = std::max(most_of_one, bypasses.most_of_one);
    overtakings += bypasses.overtakings;
    ASSERT_LE(bypasses.most_of_one, kBypassesByOne) << explorer->text();
    ASSERT_LE(bypasses.most_passes, 1u) << explorer->text();
  }
  EXPECT_GT(overtakings, 0u);
  std::printf("%d schedules, at most %d\n", static_cast<int>(explorer->schedules()), most_of_one);
}

/// A flood of readers costs a writer a few steps for each of them, and no more: it waits for the
/// visits it finds, never for later ones.
TYPED_TEST(RomulusProgress, AWritersStepsUnderAFloodOfReadersAreBounded) {
  for (const int readers : {1, 3, 7, 15}) {
    uint64_t alone = 0;
    uint64_t most = 0;
    for (uint64_t seed = 0; seed <= 50; ++seed) {  // 0: alone
      const int flood = seed == 0 ? 0 : readers;
      SimMachine machine({.threads = 1 + readers,
                          .seed = seed,
                          .switch_probability = seed % 2 == 0 ? 0.25 : 0.05,
                          .pages = pages});
      EngineFixture<TypeParam> heap(machine, {.bytes = kPageBytes, .max_threads = 1 + readers});
      heap.format().check();
      std::atomic<bool> writing = true;
      machine.run_threads(1 + flood, [&](int worker) {
        if (worker > 0) {
          while (writing) {
            heap.read(3);
          }
          return;
        }
        for (int i = 0; i < 3; ++i) {
          const uint64_t before = operations(machine, machine.self());
          heap.write(3, 1);
          const uint64_t steps = operations(machine, machine.self()) - before;
          (seed == 0 ? alone : most) = std::max(seed == 0 ? alone : most, steps);
        }
        writing = false;
      });
    }
    // Two scans at most; in each a look at a reader's counter, and two more while it is inside. A
    // reader that gives its body to the writer costs looks, two exchanges of its slot's state, and
    // the load; and before the writer has the lock it may have had to ask for it.
    const uint64_t bound = alone + static_cast<uint64_t>(readers) * (2 * 3 + 8) + 8;
    EXPECT_LE(most, bound) << readers << " readers";
    std::printf("%d readers: %d steps alone, at most %d\n", readers, static_cast<int>(alone),
                static_cast<int>(most));
  }
}

}  // namespace
}  // namespace holdfast::romulus_progress_test
