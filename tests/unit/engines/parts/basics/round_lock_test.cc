// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/basics/round_lock.h"

#include <gtest/gtest.h>

#include <new>
#include <system_error>

#include "holdfast/base/status.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/timeline_world.h"

namespace holdfast {
namespace {

using Word = SimMachine::Atomic<uint64_t>;

TEST(RoundLock, AdmitsOneThreadAtATime) {
  SimMachine machine(timeline_test::power9(4));
  RoundLock<SimMachine> lock(machine);
  Word& inside = *make_object<Word>(machine);
  uint64_t rounds = 0;
  machine.run_threads(4, [&](int) {
    for (int i = 0; i < 50; ++i) {
      lock.lock();
      EXPECT_EQ(inside.fetch_add(1), 0U);
      machine.work(100);
      ++rounds;
      inside.fetch_add(uint64_t{0} - 1);
      lock.unlock();
    }
  });
  EXPECT_EQ(rounds, 200U);
}

TEST(RoundLock, IsNotTakenTwice) {
  SimMachine machine(timeline_test::power9(1));
  RoundLock<SimMachine> lock(machine);
  machine.run_threads(1, [&](int) {
    EXPECT_TRUE(lock.try_lock());
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
    EXPECT_TRUE(lock.lock_or_wait());
    lock.unlock();
  });
}

/// A thread does one round after the other, and the lock is free for a moment only.
TEST(RoundLock, AWaitEndsWithTheRound) {
  constexpr int kRounds = 1000;
  SimMachine machine(timeline_test::power9(2));
  RoundLock<SimMachine> lock(machine);
  Word& begun = *make_object<Word>(machine);
  uint64_t first = 0;
  uint64_t waits = 0;
  uint64_t last = 0;
  machine.run_threads(2, [&](int worker) {
    if (worker == 0) {
      for (uint64_t i = 1; i <= kRounds; ++i) {
        lock.lock();
        begun.store(i);
        machine.work(1000);
        lock.unlock();
      }
      return;
    }
    first = machine.wait_while(begun, 0);
    while (begun.load() < kRounds && waits < 10) {
      if (lock.lock_or_wait()) {
        lock.unlock();
      }
      ++waits;
    }
    last = begun.load();
  });
  EXPECT_EQ(waits, 10U);
  EXPECT_LE(last - first, 20U);
}

TEST(RoundLock, AsksTheBackgroundForRoundsUntilOneFindsNothing) {
  SimMachine machine(timeline_test::power9(1));
  RoundLock<SimMachine> lock(machine);
  machine.run_threads(1, [&](int) {
    int work = 2;
    const auto round = [&] {
      EXPECT_FALSE(lock.try_lock());
      return work-- > 0;
    };
    EXPECT_FALSE(lock.background(round)) << "no thread has asked";
    lock.request();
    EXPECT_TRUE(lock.try_lock());
    EXPECT_FALSE(lock.background(round)) << "another thread does a round";
    lock.unlock();
    EXPECT_TRUE(lock.background(round));
    EXPECT_TRUE(lock.background(round));
    EXPECT_FALSE(lock.background(round));
    EXPECT_EQ(work, -1);
    EXPECT_FALSE(lock.background(round));
    EXPECT_EQ(work, -1);
  });
}

TEST(RoundLock, ARoundWithoutMemoryOrAThreadEnds) {
  SimMachine machine(timeline_test::power9(1));
  RoundLock<SimMachine> lock(machine);
  machine.run_threads(1, [&](int) {
    lock.lock();
    EXPECT_THROW(lock.finish([]() -> int { throw std::bad_alloc(); }), std::bad_alloc);
    lock.lock();
    EXPECT_THROW(lock.finish([]() -> int {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }),
                 std::system_error);
    lock.lock();
    EXPECT_EQ(lock.finish([] { return Result<int>(7); }).value(), 7);
    EXPECT_TRUE(lock.try_lock());
  });
}

}  // namespace
}  // namespace holdfast
