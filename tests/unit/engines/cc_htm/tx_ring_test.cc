// SPDX-License-Identifier: Apache-2.0
// Does the ring keep its rules in every schedule? Three threads have one operation each: two insert
// a transaction, one retires what it can. The search has all schedules within its bounds.
#include "holdfast/engines/cc_htm/tx_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/machine/sim/support/host_pages.h"
#include "tests/sanitized.h"

namespace holdfast::tx_ring_test {
namespace {

using cc_htm::Finished;

/// Leaves the operation of a thread that stops for ever.
struct Stop {};

/// Counts the steps that the calling thread may still take, if it has a counter.
void step() {
  auto* const left = static_cast<int*>(SimMachine::context());
  if (left != nullptr && (*left)-- == 0) {
    throw Stop();
  }
}

template <class T>
struct StoppingAtomic : SimAtomic<T> {
  using Order = std::memory_order;
  T load(Order order = Order::seq_cst) const {
    step();
    return SimAtomic<T>::load(order);
  }
  void store(T value, Order order = Order::seq_cst) {
    step();
    SimAtomic<T>::store(value, order);
  }
  bool compare_exchange(T& expected, T desired) {
    step();
    return SimAtomic<T>::compare_exchange(expected, desired);
  }
};

/// A machine whose threads may stop before any access to the ring. Copies of facts take no step of
/// the schedule: they become visible before the slot's colour, and are read after it.
struct StoppingMachine : SimMachine {
  using SimMachine::SimMachine;
  template <class T>
  using Atomic = StoppingAtomic<T>;
  static void copy(void* to, const void* from, size_t n) {
    step();
    std::memcpy(to, from, n);
  }
};

using Ring = cc_htm::TxRing<StoppingMachine>;

/// The rules of retirement: those of the engine, and two mistakes of the paper's text.
enum class Rule { engine, by_start, early_minimum };

struct World {
  World(const std::shared_ptr<ScheduleExplorer>& explorer,
        const std::shared_ptr<sim::HostPages>& pages)
      : machine({.threads = 3,
                 .schedule = Schedule::exhaustive,
                 .explorer = explorer,
                 .max_steps = 10'000,
                 .pages = pages}),
        ring(machine, 4) {}

  /// The life of a transaction up to red. `id` is 0 while it has no number.
  void insert(uint64_t& id) {
    id = ring.take();
    ASSERT_NE(id, 0u) << "the ring has room";
    ASSERT_TRUE(ring.start(id));
    const uint64_t time = machine.now();
    ring.finish({.stamp = {.time = time, .id = id},
                 .end = ring.next(),
                 .position = 0,
                 .bytes = 0,
                 .thread = 0,
                 .credit = 0});
  }

  void retire(Rule rule) {
    std::vector<Finished> red;
    const auto look = ring.collect(red, rule == Rule::early_minimum);
    for (const Finished& f : red) {
      if ((rule == Rule::by_start ? f.stamp.id : f.end) > look.oldest_blue) {
        break;
      }
      retired.push_back(f);
      ring.retire(f.stamp.id);
    }
    ring.advance_min(rule == Rule::early_minimum);
  }

  /// Returns the mistake in the order of the transactions that have retired, or nothing.
  const char* mistake(size_t expected) const {
    for (size_t i = 1; i < retired.size(); ++i) {
      if (!(retired[i - 1].stamp < retired[i].stamp)) {
        return "wrong order";
      }
    }
    return retired.size() < expected ? "forgotten" : nullptr;
  }

  StoppingMachine machine;
  Ring ring;
  std::vector<Finished> retired;
};

/// A sanitizer sees all code with fewer preemptions. The paper's mistakes need two.
constexpr ScheduleBounds kBounds{.preemptions = kSanitized ? 1 : 2, .drains = 1};

struct Found {
  uint64_t schedules = 0;
  uint64_t wrong_order = 0;
  uint64_t forgotten = 0;
};

Found search(Rule rule) {
  Found found;
  const auto pages = std::make_shared<sim::HostPages>();
  auto explorer = std::make_shared<ScheduleExplorer>(kBounds);
  while (explorer->next()) {
    World w(explorer, pages);
    w.machine.run_threads(3, [&](int worker) {
      uint64_t id = 0;
      worker == 1 ? w.retire(rule) : w.insert(id);
    });
    w.retire(rule);
    w.retire(rule);
    const char* const mistake = w.mistake(2);
    if (mistake != nullptr) {
      ++(*mistake == 'w' ? found.wrong_order : found.forgotten);
    }
  }
  found.schedules = explorer->schedules();
  std::printf("%llu schedules with up to %d preemptions and %d drain\n",
              static_cast<unsigned long long>(found.schedules), kBounds.preemptions,
              kBounds.drains);
  return found;
}

TEST(TxRing, RetiresAllInTheOrderOfTheirTimes) {
  const Found found = search(Rule::engine);
  EXPECT_EQ(found.wrong_order, 0u);
  EXPECT_EQ(found.forgotten, 0u);
  EXPECT_GT(found.schedules, kSanitized ? 100u : 1000u);
}

/// The paper, 4.2: the oldest red transaction retires if it began before the oldest blue one.
TEST(TxRing, RetirementByStartBreaksTheOrder) {
  EXPECT_TRUE(search(Rule::by_start).wrong_order > 0 || kSanitized);
}

/// The paper's QueueNotifyStart takes the number before it fills the slot.
TEST(TxRing, AMinimumBeyondAnEmptySlotForgetsATransaction) {
  EXPECT_TRUE(search(Rule::early_minimum).forgotten > 0 || kSanitized);
}

/// One inserter stops for ever before each of its steps. The others complete, and nothing retires
/// in the wrong order. When its number is given up, all others retire.
TEST(TxRing, AnInserterThatStopsStopsNoOther) {
  uint64_t schedules = 0;
  int steps = 0;
  for (bool some_stop = true; some_stop; ++steps) {
    some_stop = false;
    const auto pages = std::make_shared<sim::HostPages>();
    auto explorer = std::make_shared<ScheduleExplorer>(kBounds);
    while (explorer->next()) {
      World w(explorer, pages);
      std::array<uint64_t, 3> ids{};
      std::array<bool, 3> done{};
      int left = steps;
      w.machine.run_threads(3, [&](int worker) {
        if (worker == 0) {
          SimMachine::set_context(&left);
        }
        const auto i = static_cast<size_t>(worker);
        try {
          worker == 1 ? w.retire(Rule::engine) : w.insert(ids[i]);
          done[i] = true;
        } catch (const Stop&) {
        }
        SimMachine::set_context(nullptr);
      });
      const bool stops = !done[0];
      some_stop = some_stop || stops;
      ASSERT_TRUE(done[1] && done[2]) << explorer->text();
      uint64_t more = 0;
      w.insert(more);
      if (stops && ids[0] != 0) {
        w.ring.give_up(ids[0]);
      }
      w.retire(Rule::engine);
      w.retire(Rule::engine);
      ASSERT_EQ(w.mistake(stops ? 2 : 3), nullptr) << "step " << steps << ", " << explorer->text();
      ASSERT_EQ(w.ring.min(), w.ring.next());
    }
    schedules += explorer->schedules();
  }
  std::printf("%llu schedules, stopped before each of %d steps\n",
              static_cast<unsigned long long>(schedules), steps - 1);
}

// ---- One thread.

using PlainRing = cc_htm::TxRing<SimMachine>;
constexpr uint64_t kSize = 4;

Finished finished(uint64_t id, uint64_t time) {
  return {.stamp = {.time = time, .id = id},
          .end = id + 1,
          .position = 0,
          .bytes = 0,
          .thread = 0,
          .credit = 0};
}

/// Several laps: each number is given out once, in order, and only while the ring has room.
TEST(TxRing, NumbersBeginAtOneAndWaitForRoom) {
  SimMachine machine{SimOptions{}};
  PlainRing ring(machine, kSize);
  EXPECT_EQ(ring.next(), 1u);
  EXPECT_EQ(ring.min(), 1u);
  EXPECT_FALSE(ring.advance_min(false));
  for (uint64_t id = 1; id <= kSize; ++id) {
    EXPECT_EQ(ring.take(), id);
  }
  for (uint64_t id = 1; id <= 3 * kSize; ++id) {
    EXPECT_EQ(ring.take(), 0u) << "full";
    EXPECT_TRUE(ring.start(id));
    EXPECT_FALSE(ring.start(id)) << "it has started";
    EXPECT_FALSE(ring.advance_min(false)) << "it is blue";
    ring.finish(finished(id, id));
    EXPECT_FALSE(ring.advance_min(false)) << "it is red";
    ring.retire(id);
    EXPECT_TRUE(ring.advance_min(false));
    EXPECT_EQ(ring.min(), id + 1);
    EXPECT_EQ(ring.take(), id + kSize);
    EXPECT_EQ(ring.next(), id + kSize + 1);
  }
}

TEST(TxRing, ANumberIsGivenUpOnce) {
  SimMachine machine{SimOptions{}};
  PlainRing ring(machine, kSize);
  for (uint64_t lap = 0; lap < 3; ++lap) {
    const uint64_t not_started = ring.take();
    EXPECT_TRUE(ring.give_up(not_started));
    EXPECT_FALSE(ring.give_up(not_started));
    EXPECT_FALSE(ring.start(not_started)) << "too late";
    const uint64_t blue = ring.take();
    EXPECT_TRUE(ring.start(blue));
    EXPECT_TRUE(ring.give_up(blue));
    EXPECT_FALSE(ring.give_up(blue));
    const uint64_t red = ring.take();
    EXPECT_TRUE(ring.start(red));
    ring.finish(finished(red, red));
    EXPECT_FALSE(ring.give_up(red)) << "it has committed";
    EXPECT_TRUE(ring.advance_min(false));
    EXPECT_EQ(ring.min(), red);
    ring.retire(red);
    EXPECT_TRUE(ring.advance_min(false));
    EXPECT_EQ(ring.min(), ring.next());
  }
}

TEST(TxRing, ALookFindsTheRedOnesByTimeAndTheOldestBlueOne) {
  SimMachine machine{SimOptions{}};
  PlainRing ring(machine, kSize);
  std::vector<Finished> red = {finished(9, 9)};  // of the look before
  EXPECT_EQ(ring.collect(red, false).oldest_blue, 1u);
  EXPECT_TRUE(red.empty());
  for (uint64_t id = 1; id <= kSize; ++id) {
    ASSERT_EQ(ring.take(), id);
    if (id < kSize) {
      ASSERT_TRUE(ring.start(id));  // the last number has no slot yet
    }
  }
  ring.finish(finished(1, 30));
  ring.finish(finished(3, 10));
  const auto ids = [&] {
    std::vector<uint64_t> all;
    for (const Finished& f : red) {
      all.push_back(f.stamp.id);
    }
    return all;
  };
  auto look = ring.collect(red, false);
  EXPECT_EQ(ids(), (std::vector<uint64_t>{3, 1}));
  EXPECT_EQ(look.oldest_blue, 2u);
  EXPECT_EQ(look.next, kSize + 1);
  ring.finish(finished(2, 20));
  look = ring.collect(red, false);
  EXPECT_EQ(ids(), (std::vector<uint64_t>{3, 2, 1}));
  EXPECT_EQ(look.oldest_blue, kSize) << "a number without a slot is blue";
  EXPECT_EQ(ring.collect(red, true).oldest_blue, look.next) << "unless it counts as retired";
  for (uint64_t id = 1; id < kSize; ++id) {
    ring.retire(id);
  }
  EXPECT_TRUE(ring.advance_min(false));
  EXPECT_EQ(ring.min(), kSize);
  EXPECT_TRUE(ring.advance_min(true));
  EXPECT_EQ(ring.min(), kSize + 1);
}

}  // namespace
}  // namespace holdfast::tx_ring_test
