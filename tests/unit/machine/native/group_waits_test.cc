// SPDX-License-Identifier: Apache-2.0
//
// Does each thread that waits for a group of the journal sleep at that group's place, and does none
// stay asleep when its group has ended?
#include "holdfast/machine/native/journal/group_waits.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace holdfast::native::group_waits_test {
namespace {

TEST(GroupWaits, APositionHasThePlaceOfItsGroup) {
  GroupWaits waits;
  for (uint64_t number = 1; number <= 4; ++number) {
    const uint64_t end = number * 100;
    waits.begin(number, end);
    EXPECT_EQ(waits.ticket(end).place, number % 2) << "the last position of the group";
    EXPECT_EQ(waits.ticket(end - 99).place, number % 2) << "the first one";
    EXPECT_EQ(waits.ticket(end + 1).place, 1 - number % 2) << "of the group that gathers";
  }
}

TEST(GroupWaits, ATicketFromBeforeTheEndOfAGroupDoesNotSleep) {
  GroupWaits waits;
  waits.begin(1, 100);
  const GroupWaits::Ticket written = waits.ticket(100);
  const GroupWaits::Ticket gathers = waits.ticket(101);
  waits.end();
  waits.wait(written);
  waits.wait(gathers);
  EXPECT_NE(waits.ticket(100).state, written.state);
  EXPECT_NE(waits.ticket(101).state, gathers.state);
}

// Two threads for the group that is written, two for the one that gathers.
TEST(GroupWaits, TheEndOfAGroupWakesItsThreadsAndOneOfTheNextGroup) {
  for (uint64_t number = 1; number <= 200; ++number) {
    GroupWaits waits;
    waits.begin(number, 100);
    std::atomic<int> drawn{0};
    std::atomic<int> next_awake{0};
    std::vector<std::thread> threads;
    for (const uint64_t position : {100, 100, 101, 101}) {
      threads.emplace_back([&, position] {
        const GroupWaits::Ticket ticket = waits.ticket(position);
        ++drawn;
        waits.wait(ticket);
        next_awake += position == 101 ? 1 : 0;
      });
    }
    while (drawn != 4) {
      std::this_thread::yield();
    }
    waits.end();
    waits.wake(number);
    threads[0].join();
    threads[1].join();
    while (next_awake == 0) {  // the one that may write the next group
      std::this_thread::yield();
    }
    waits.begin(number + 1, 200);
    waits.end();
    waits.wake(number + 1);
    threads[2].join();
    threads[3].join();
    EXPECT_EQ(next_awake, 2);
  }
}

}  // namespace
}  // namespace holdfast::native::group_waits_test
