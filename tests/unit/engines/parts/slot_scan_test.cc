// SPDX-License-Identifier: Apache-2.0
//
// Does each structure that waits for other threads look at every slot, the first and the last one
// included? One slot is busy and stays so. A wait that sees it never ends, which the simulated
// machine reports as SimStuck.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "holdfast/engines/fur_mv/versions.h"
#include "holdfast/engines/parts/durability/linked/time_slots.h"
#include "holdfast/engines/parts/durability/replay/state_array.h"
#include "holdfast/engines/parts/isolation/combining/read_indicator.h"
#include "holdfast/engines/parts/isolation/htm/commit_states.h"
#include "holdfast/engines/pisces/pisces_states.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::slot_scan_test {
namespace {

using M = SimMachine;
constexpr int kSlots = 6;  // main, background, four workers
constexpr Site kSite{"scan"};

/// A wait for one busy slot.
struct Wait {
  const char* name;
  /// Makes slot `busy` busy, if it is not negative, and waits as slot `self`.
  std::function<void(M&, int busy, int self)> run;
  const char* site = kSite.name;  ///< null: the scan has no label
};

const auto kNoStop = [] { return false; };

const Wait kWaits[] = {
    {"StateArray::await_active",
     [](M& m, int busy, int self) {
       StateArray<M> states(m, kSlots);
       std::array<uint64_t, kSlots> scratch{};
       if (busy >= 0) {
         states.activate(busy);
       }
       states.await_active(self, scratch.data(), kNoStop, kSite);
     }},
    {"StateArray::await_durable",
     [](M& m, int busy, int self) {
       StateArray<M> states(m, kSlots);
       if (busy >= 0) {
         states.publish_non_durable(busy, 3);
       }
       states.await_durable(self, 3, kSite);
     }},
    {"StateArray::await_all_durable",
     [](M& m, int busy, int self) {
       StateArray<M> states(m, kSlots);
       if (busy >= 0) {
         states.publish_non_durable(busy, 3);
       }
       states.await_all_durable(self, kSite);
     }},
    {"StateArray::await_number",
     [](M& m, int busy, int self) {
       StateArray<M> states(m, kSlots);
       if (busy >= 0) {
         states.take_number(busy, 7);
       }
       static_cast<void>(states.await_number(self, 7));
     },
     nullptr},
    {"CommitStates::await_active",
     [](M& m, int busy, int self) {
       CommitStates<M> states(m, kSlots);
       std::array<uint64_t, kSlots> scratch{};
       if (busy >= 0) {
         states.activate(busy);
       }
       states.await_active(self, scratch.data(), kNoStop, kSite);
     }},
    {"TimeSlots::await_logged",
     [](M& m, int busy, int self) {
       TimeSlots<M> slots(m, kSlots);
       if (busy >= 0) {
         slots.run(busy, 5);
       }
       slots.await_logged(self, 9, kSite);
     }},
    {"TimeSlots::await_durable",
     [](M& m, int busy, int self) {
       TimeSlots<M> slots(m, kSlots);
       if (busy >= 0) {
         slots.commit(busy, 5);
       }
       slots.await_durable(self, 9, false, kSite);
     }},
    {"TimeSlots::await_committed",
     [](M& m, int busy, int self) {
       TimeSlots<M> slots(m, kSlots);
       if (busy >= 0) {
         slots.commit(busy, 5);
       }
       slots.await_committed(self, 9, kSite);
     }},
    {"PiscesStates::await_older",
     [](M& m, int busy, int self) {
       PiscesStates<M> states(m, kSlots);
       if (busy >= 0) {
         states.activate(busy);
       }
       states.await_older(self, 4, kSite);
     }},
    {"ReadIndicator::wait_for_present",
     [](M& m, int busy, int /*self*/) {
       ReadIndicator<M> readers(m);
       if (busy >= 0) {
         readers.arrive(busy);
       }
       readers.wait_for_present();
     },
     "readers.present"},
};

/// Makes all slots active: a scan ends behind the highest one that was ever taken.
void use_all_slots(M& machine) {
  machine.run_threads(kSlots - 2, [](int) {});
}

TEST(SlotScan, AWaitSeesABusyThreadInEachSlot) {
  for (const Wait& wait : kWaits) {
    for (int busy = 0; busy < kSlots; ++busy) {
      M machine({.threads = kSlots - 2});
      use_all_slots(machine);
      const int self = (busy + 1) % kSlots;
      EXPECT_THROW(machine.run_threads(1, [&](int) { wait.run(machine, busy, self); }), SimStuck)
          << wait.name << " overlooks slot " << busy;
    }
  }
}

TEST(SlotScan, AWaitEndsIfNoOtherThreadIsBusy) {
  for (const Wait& wait : kWaits) {
    M machine({.threads = kSlots - 2});
    use_all_slots(machine);
    EXPECT_NO_THROW(machine.run_threads(1, [&](int) { wait.run(machine, -1, 2); })) << wait.name;
  }
}

/// Returns whether the wait overlooks a busy thread in this slot with this planted bug.
bool overlooks(const Wait& wait, int busy, const std::string& mutation) {
  M machine({.threads = kSlots - 2, .mutations = {parse_mutation(mutation).value()}});
  use_all_slots(machine);
  try {
    machine.run_threads(1, [&](int) { wait.run(machine, busy, 2); });
    return true;
  } catch (const SimStuck&) {
    return false;
  }
}

TEST(SlotScan, APlantedBoundOverlooksItsSlotAndNoOther) {
  for (const Wait& wait : kWaits) {
    if (wait.site == nullptr) {
      continue;
    }
    const std::string site = wait.site;
    EXPECT_TRUE(overlooks(wait, 0, site + "=first")) << wait.name;
    EXPECT_FALSE(overlooks(wait, 1, site + "=first")) << wait.name;
    EXPECT_TRUE(overlooks(wait, kSlots - 1, site + "=last")) << wait.name;
    EXPECT_FALSE(overlooks(wait, kSlots - 2, site + "=last")) << wait.name;
  }
}

TEST(SlotScan, TheOldestSnapshotIsFoundInEachSlot) {
  for (int busy = 0; busy < kSlots; ++busy) {
    M machine({.threads = kSlots - 2});
    use_all_slots(machine);
    SnapshotPins<M> pins(machine, kSlots);
    pins.advance(4);
    pins.pin(busy);
    pins.advance(9);
    EXPECT_EQ(pins.oldest(), 4U) << "slot " << busy;
    pins.unpin(busy);
    EXPECT_EQ(pins.oldest(), 9U);
  }
}

TEST(SlotScan, NoTimeIsPassedThatSomeSlotStillNeeds) {
  for (int busy = 0; busy < kSlots; ++busy) {
    M machine({.threads = kSlots - 2});
    use_all_slots(machine);
    TimeSlots<M> slots(machine, kSlots);
    EXPECT_EQ(slots.none_before(20), 20U);
    slots.run(busy, 5);
    EXPECT_EQ(slots.none_before(20), 4U) << "slot " << busy;
  }
}

TEST(SlotScan, ThePredecessorIsFoundInEachSlot) {
  for (int owner = 0; owner < kSlots; ++owner) {
    M machine({.threads = kSlots - 2});
    use_all_slots(machine);
    TimeSlots<M> slots(machine, kSlots);
    slots.note(LinkedRecord{.thread = owner, .time = 5});
    const auto found = slots.predecessor(LinkedRecord{.thread = (owner + 1) % kSlots, .time = 8});
    ASSERT_TRUE(found) << "slot " << owner;
    EXPECT_EQ(found->thread, owner);
  }
}

}  // namespace
}  // namespace holdfast::slot_scan_test
