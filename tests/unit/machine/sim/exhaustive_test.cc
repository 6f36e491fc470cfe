// SPDX-License-Identifier: Apache-2.0
// Does the exhaustive scheduler find every schedule within its bounds, each once?
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::exhaustive_test {
namespace {

using Word = SimMachine::Atomic<uint64_t>;
constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr size_t kFar = 8;  ///< words: another line

struct Explored {
  std::set<std::pair<uint64_t, uint64_t>> outcomes;
  uint64_t schedules = 0;
  uint64_t stuck = 0;
};

/// Runs program(machine, words, worker, result) on two threads under every schedule. An outcome is
/// the pair of values that the threads left in result[0] and result[1].
template <class F>
Explored explore(const ScheduleBounds& bounds, size_t store_buffer, F&& program) {
  Explored explored;
  auto explorer = std::make_shared<ScheduleExplorer>(bounds);
  while (explorer->next()) {
    SimMachine machine({.threads = 2,
                        .schedule = Schedule::exhaustive,
                        .explorer = explorer,
                        .store_buffer = store_buffer,
                        .max_steps = 10'000});
    auto* words = make_array<Word>(machine, 64);
    uint64_t result[2] = {0, 0};
    try {
      machine.run_threads(2, [&](int i) { program(machine, words, i, result); });
      explored.outcomes.insert({result[0], result[1]});
    } catch (const SimStuck& stuck) {
      EXPECT_NE(std::string(stuck.what()).find("deadlock"), std::string::npos) << stuck.what();
      ++explored.stuck;
    }
  }
  explored.schedules = explorer->schedules();
  return explored;
}

using Outcomes = std::set<std::pair<uint64_t, uint64_t>>;

// Two threads of two operations, counted by hand. Without a preemption the schedules differ in the
// first thread. With one, they also differ in whether that thread is interrupted between its
// operations. With two there are all six interleavings.
TEST(SimExhaustive, CountsOfATinyProgram) {
  const auto two = [](SimMachine&, Word* words, int, uint64_t*) {
    words[0].fetch_add(1);
    words[0].fetch_add(1);
  };
  EXPECT_EQ(explore({0, 0}, 0, two).schedules, 2u);
  EXPECT_EQ(explore({1, 0}, 0, two).schedules, 4u);
  EXPECT_EQ(explore({2, 0}, 0, two).schedules, 6u);
  EXPECT_EQ(explore({9, 9}, 0, two).schedules, 6u) << "there are no more";
}

// The program of the last test in turns. The first thread may be delayed before either of its
// operations. With a second delay, the other thread gives way again before either of its own.
TEST(SimExhaustive, CountsOfATinyProgramInTurns) {
  const auto two = [](SimMachine&, Word* words, int, uint64_t*) {
    words[0].fetch_add(1);
    words[0].fetch_add(1);
  };
  EXPECT_EQ(explore({.delays = 0}, 0, two).schedules, 1u);
  EXPECT_EQ(explore({.delays = 1}, 0, two).schedules, 3u);
  EXPECT_EQ(explore({.delays = 2}, 0, two).schedules, 7u);
}

// The search finds a bug that one switch decides with about as many schedules as a thread has
// operations.
TEST(SimExhaustive, OneDelayFindsALostUpdateInALongProgram) {
  const auto add = [](SimMachine&, Word* words, int i, uint64_t* result) {
    for (uint64_t k = 0; k < 50; ++k) {
      words[kFar * static_cast<size_t>(i + 1)].fetch_add(1);
    }
    const uint64_t seen = words[0].load();
    words[0].store(seen + 1);
    result[i] = seen + 1;
  };
  const Explored found = explore({.delays = 1}, 0, add);
  EXPECT_EQ(found.schedules, 53u);
  EXPECT_EQ(found.outcomes, (Outcomes{{1, 2}, {2, 1}, {1, 1}}));
}

// Every interleaving of three operations with three: "6 choose 3" schedules, all different.
TEST(SimExhaustive, AllInterleavingsEachOnce) {
  const auto trace = [](SimMachine&, Word* words, int i, uint64_t* result) {
    for (int k = 0; k < 3; ++k) {
      result[i] = result[i] * 8 + words[0].fetch_add(1);
    }
  };
  const Explored all = explore({5, 0}, 0, trace);
  EXPECT_EQ(all.schedules, 20u);
  EXPECT_EQ(all.outcomes.size(), 20u);
}

void store_then_load(SimMachine& machine, Word* words, int i, uint64_t* result, bool fence) {
  words[i == 0 ? 0 : kFar].store(1, kRelaxed);
  if (fence) {
    machine.fence();
  }
  result[i] = words[i == 0 ? kFar : 0].load(kRelaxed);
}

// The litmus test "store buffering", counted by hand without preemptions and drains. One of two
// threads begins, and ends with its store buffered. Either that store becomes visible first and the
// other thread runs; its own store becomes visible at the end (one schedule). Or the other thread
// runs at once, and the two buffers empty in either order (two schedules).
TEST(SimExhaustive, StoreBuffersShowBothOldValues) {
  const auto sb = [](SimMachine& m, Word* words, int i, uint64_t* result) {
    store_then_load(m, words, i, result, false);
  };
  const Explored none = explore({0, 0}, 8, sb);
  EXPECT_EQ(none.schedules, 6u);
  EXPECT_EQ(none.outcomes, (Outcomes{{0, 0}, {0, 1}, {1, 0}}));
  const Explored more = explore({2, 2}, 8, sb);
  EXPECT_EQ(more.outcomes, (Outcomes{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(explore({9, 9}, 0, sb).outcomes, (Outcomes{{0, 1}, {1, 0}, {1, 1}}))
      << "sequentially consistent without buffers";
}

TEST(SimExhaustive, AFenceForbidsBothOldValues) {
  const auto fenced = [](SimMachine& m, Word* words, int i, uint64_t* result) {
    store_then_load(m, words, i, result, true);
  };
  EXPECT_EQ(explore({4, 4}, 8, fenced).outcomes, (Outcomes{{0, 1}, {1, 0}, {1, 1}}));
}

// The litmus test "message passing": stores become visible in order.
TEST(SimExhaustive, StoresNeverOvertakeEachOther) {
  const auto mp = [](SimMachine&, Word* words, int i, uint64_t* result) {
    if (i == 0) {
      words[0].store(1, kRelaxed);
      words[kFar].store(1, kRelaxed);
    } else {
      result[0] = words[kFar].load(kRelaxed);
      result[1] = words[0].load(kRelaxed);
    }
  };
  EXPECT_EQ(explore({4, 4}, 8, mp).outcomes, (Outcomes{{0, 0}, {0, 1}, {1, 1}}));
}

// A drain beside a running thread counts. With a bound of no drains, no store becomes visible
// between two loads of a thread that is not interrupted.
TEST(SimExhaustive, DrainsCount) {
  const auto twice = [](SimMachine&, Word* words, int i, uint64_t* result) {
    if (i == 0) {
      words[0].store(1, kRelaxed);
    } else {
      result[0] = words[0].load(kRelaxed);
      result[1] = words[0].load(kRelaxed);
    }
  };
  EXPECT_EQ(explore({0, 0}, 8, twice).outcomes, (Outcomes{{0, 0}, {1, 1}}));
  EXPECT_EQ(explore({0, 1}, 8, twice).outcomes, (Outcomes{{0, 0}, {0, 1}, {1, 1}}));
}

// Two threads of two stores, counted by hand without preemptions and drains. One of two threads
// begins. None, one or both of its stores become visible before the other thread begins. The
// remaining stores empty buffer by buffer, in two orders if two buffers have some: 2 x (2 + 2 + 1).
// One drain also allows to turn from one buffer to the other and back, and to interrupt the run of
// the second thread.
TEST(SimExhaustive, BuffersOfEndedThreadsEmptyOneAfterTheOther) {
  const auto stores = [](SimMachine&, Word* words, int i, uint64_t*) {
    words[static_cast<size_t>(i) * kFar].store(1, kRelaxed);
    words[static_cast<size_t>(i) * kFar].store(2, kRelaxed);
  };
  EXPECT_EQ(explore({0, 0}, 8, stores).schedules, 10u);
  EXPECT_GT(explore({0, 1}, 8, stores).schedules, 10u);
}

TEST(SimExhaustive, OnePreemptionLosesAnUpdate) {
  const auto add = [](SimMachine& machine, Word* words, int i, uint64_t* result) {
    const uint64_t old = words[0].load(kRelaxed);
    words[0].store(old + 1, kRelaxed);
    machine.fence();
    result[i] = old;
  };
  EXPECT_EQ(explore({0, 0}, 0, add).outcomes, (Outcomes{{0, 1}, {1, 0}}));
  EXPECT_EQ(explore({1, 0}, 0, add).outcomes, (Outcomes{{0, 0}, {0, 1}, {1, 0}}));
}

void lock(SimMachine& machine, Word& word) {
  uint64_t free = 0;
  while (!word.compare_exchange(free, 1)) {
    machine.wait_while(word, uint64_t{1});
    free = 0;
  }
}

TEST(SimExhaustive, FindsTheDeadlockOfTwoLocks) {
  const auto opposite = [](SimMachine& machine, Word* words, int i, uint64_t*) {
    Word& first = words[i == 0 ? 0 : kFar];
    Word& second = words[i == 0 ? kFar : 0];
    lock(machine, first);
    lock(machine, second);
    second.store(0);
    first.store(0);
  };
  const Explored without = explore({0, 0}, 8, opposite);
  EXPECT_EQ(without.stuck, 0u);
  EXPECT_GE(without.schedules, 2u);
  EXPECT_GT(explore({1, 0}, 8, opposite).stuck, 0u);
  const auto ordered = [](SimMachine& machine, Word* words, int, uint64_t*) {
    lock(machine, words[0]);
    lock(machine, words[kFar]);
    words[kFar].store(0);
    words[0].store(0);
  };
  EXPECT_EQ(explore({3, 2}, 8, ordered).stuck, 0u);
}

// A loop of pauses ends, even if the store it waits for is in the buffer of an ended thread.
TEST(SimExhaustive, PausesLetOthersRun) {
  const auto spin = [](SimMachine& machine, Word* words, int i, uint64_t* result) {
    if (i == 0) {
      words[0].store(1, kRelaxed);
    } else {
      while (words[0].load(kRelaxed) == 0) {
        machine.pause();
      }
    }
    result[i] = 1;
  };
  const Explored all = explore({2, 2}, 8, spin);
  EXPECT_EQ(all.outcomes, (Outcomes{{1, 1}}));
  EXPECT_GT(all.schedules, 2u);
}

TEST(SimExhaustive, TheSameSearchTwice) {
  const auto texts = [] {
    std::vector<std::string> all;
    auto explorer = std::make_shared<ScheduleExplorer>(ScheduleBounds{1, 1});
    while (explorer->next()) {
      SimMachine machine({.threads = 2, .schedule = Schedule::exhaustive, .explorer = explorer});
      auto* words = make_array<Word>(machine, 64);
      machine.run_threads(2, [&](int i) {
        uint64_t result[2];
        store_then_load(machine, words, i, result, i == 0);
      });
      all.push_back(explorer->text());
    }
    return all;
  };
  const auto first = texts();
  EXPECT_EQ(first, texts());
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), first.size());
}

TEST(SimExhaustive, AProgramThatDependsOnSomethingElseIsNoticed) {
  int runs = 0;
  auto explorer = std::make_shared<ScheduleExplorer>(ScheduleBounds{1, 0});
  EXPECT_THROW(
      {
        while (explorer->next()) {
          ++runs;
          SimMachine machine(
              {.threads = 3, .schedule = Schedule::exhaustive, .explorer = explorer});
          auto* words = make_object<Word>(machine);
          machine.run_threads(runs < 2 ? 2 : 3, [&](int) {
            words[0].fetch_add(1);
            words[0].fetch_add(1);
          });
        }
      },
      Error);
  EXPECT_EQ(runs, 2);
}

TEST(SimExhaustive, NeedsAnExplorer) {
  EXPECT_THROW(SimMachine({.schedule = Schedule::exhaustive}), Error);
}

}  // namespace
}  // namespace holdfast::exhaustive_test
