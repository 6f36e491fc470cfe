// SPDX-License-Identifier: Apache-2.0
// Do fur-mv's pins, its table and its store of versions keep their contracts?
#include <gtest/gtest.h>

#include <set>

#include "holdfast/engines/fur_mv/fur_mv_options.h"
#include "holdfast/engines/fur_mv/versions.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::fur_mv_parts_test {
namespace {

using Pins = SnapshotPins<SimMachine>;
using Store = VersionStore<SimMachine>;

/// Runs f(machine) on a thread of a machine.
template <class F>
void on_thread(F&& f) {
  SimOptions options;
  options.threads = 1;
  options.list_sites = true;
  SimMachine machine(options);
  machine.run_threads(1, [&](int) { f(machine); });
}

TEST(FurMvOptions, HaveTheDefaultsThatTheyName) {
  Options named;
  for (const OptionInfo& option : kFurMvOptions) {
    named[option.name] = option.fallback;
  }
  const FurMvOptions usual = FurMvOptions::parse({}, 8).value();
  const FurMvOptions same = FurMvOptions::parse(named, 8).value();
  EXPECT_EQ(usual.retries, same.retries);
  EXPECT_EQ(usual.stripes, same.stripes);
  EXPECT_EQ(usual.versions, same.versions);
}

TEST(FurMvPins, TheOldestSnapshotIsTheOneThatIsPinned) {
  on_thread([](SimMachine& machine) {
    for (const bool update : {false, true}) {
      for (const int slot : {0, machine.self()}) {
        Pins pins(machine, machine.slots());
        pins.pin(slot, update);
        pins.advance(3);
        EXPECT_EQ(pins.oldest(), 0u) << "one of before the first update";
        pins.unpin(slot);
        EXPECT_EQ(pins.oldest(), 3u);
        pins.pin(slot, update);
        pins.advance(9);
        EXPECT_EQ(pins.oldest(), 3u);
        pins.unpin(slot);
        EXPECT_EQ(pins.oldest(), 9u);
      }
    }
  });
}

TEST(FurMvPins, WhatIsDurableStaysDurable) {
  on_thread([](SimMachine& machine) {
    Pins pins(machine, machine.slots());
    pins.advance(5);
    pins.advance(3);
    EXPECT_EQ(pins.durable(), 5u);
  });
}

TEST(FurMvPins, AnUpdateThatRunsAloneWaitsForUpdatesInAnySlot) {
  for (const bool first : {true, false}) {
    SimOptions options;
    options.threads = 2;
    SimMachine machine(options);
    Pins pins(machine, machine.slots());
    using Flag = SimMachine::Atomic<uint64_t>;
    Flag* const step = make_object<Flag>(machine);
    bool over = false;
    machine.run_threads(2, [&](int number) {
      const int slot = first ? 0 : machine.active_slots() - 1;
      if (number == 0) {
        pins.pin(slot, true);
        step->store(1);
        for (int i = 0; i < 100; ++i) {
          machine.pause();
        }
        over = true;
        pins.unpin(slot);
        return;
      }
      pins.pin(1);  // a reader, which never ends
      while (machine.wait_while(*step, uint64_t{0}) == 0) {
      }
      pins.await_updates();
      EXPECT_TRUE(over);
    });
  }
}

TEST(FurMvVersions, ATableHasThePowerOfTwoThatIsNotSmaller) {
  on_thread([](SimMachine& machine) {
    for (const auto& [count, stripes] :
         {std::pair{uint64_t{16}, size_t{16}}, {uint64_t{17}, size_t{32}}}) {
      const VersionTable<SimMachine> table(machine, count);
      std::set<const void*> found;
      for (uint64_t offset = 0; offset < 64 * kPageBytes; offset += 32) {
        found.insert(&table.of(offset));
      }
      EXPECT_EQ(found.size(), stripes);
    }
  });
}

/// The ring grows behind the newest versions, before the oldest ones.
TEST(FurMvVersions, TheOldestAreReusedFirst) {
  on_thread([](SimMachine& machine) {
    Pins pins(machine, machine.slots());
    Store store(machine, pins, 1);
    pins.pin(0);
    const Version* const first = store.take(1);
    const Version* const second = store.take(2);
    const Version* const third = store.take(3);
    EXPECT_EQ(store.versions(), 3u);
    pins.unpin(0);
    pins.advance(1);
    pins.pin(0);
    pins.advance(3);
    EXPECT_EQ(store.take(4), first);
    const Version* const added = store.take(5);
    EXPECT_EQ(store.versions(), 4u);
    pins.unpin(0);
    pins.advance(5);
    EXPECT_EQ(store.take(6), second);
    EXPECT_EQ(store.take(7), third);
    EXPECT_EQ(store.take(8), first);
    EXPECT_EQ(store.take(9), added);
    EXPECT_EQ(store.versions(), 4u);
  });
}

/// A scan costs a heavy fence.
TEST(FurMvVersions, PinsAreScannedOnlyIfThatMayFreeVersions) {
  on_thread([](SimMachine& machine) {
    Pins pins(machine, machine.slots());
    Store store(machine, pins, 1);
    const auto scans = [&] {
      uint64_t count = 0;
      for (const SiteUse& use : machine.sites()) {
        count += use.name == "furmv.horizon.fence" ? use.count : 0;
      }
      return count;
    };
    for (int i = 0; i < 5; ++i) {
      store.take(1);
    }
    EXPECT_EQ(scans(), 0u) << "versions of the transaction itself";
    pins.advance(1);
    store.take(2);
    EXPECT_EQ(scans(), 1u);
    for (int i = 0; i < 4; ++i) {
      store.take(2);
    }
    EXPECT_EQ(scans(), 1u) << "the last scan has freed them, too";
    EXPECT_EQ(store.versions(), 5u);
  });
}

TEST(FurMvVersions, GrowByAnEighthAtLeast) {
  on_thread([](SimMachine& machine) {
    Pins pins(machine, machine.slots());
    Store store(machine, pins, 8);
    pins.pin(0);
    for (uint64_t number = 1; number <= 72; ++number) {
      store.take(number);
    }
    EXPECT_EQ(store.versions(), 72u);
    store.take(73);
    EXPECT_EQ(store.versions(), 81u);
  });
}

/// A machine with memory for one array.
class NarrowMachine : public SimMachine {
 public:
  explicit NarrowMachine(const SimOptions& options) : SimMachine(options) {}
  void* allocate(size_t n, size_t alignment) {
    if (full) {
      throw Error(Status(Code::out_of_space, "full"));
    }
    return SimMachine::allocate(n, alignment);
  }
  bool full = false;
};

// An update that finds no memory for its versions fails. The next one overwrites none of those that
// readers need.
TEST(FurMvVersions, AreKeptIfThereIsNoMemoryForMore) {
  SimOptions options;
  options.threads = 1;
  NarrowMachine machine(options);
  machine.run_threads(1, [&](int) {
    SnapshotPins<NarrowMachine> pins(machine, machine.slots());
    VersionStore<NarrowMachine> store(machine, pins, 2);
    pins.pin(0);
    std::set<Version*> needed = {store.take(1), store.take(2)};
    pins.advance(2);
    machine.full = true;
    EXPECT_THROW(store.take(3), Error);
    machine.full = false;
    EXPECT_TRUE(needed.insert(store.take(4)).second);
  });
}

}  // namespace
}  // namespace holdfast::fur_mv_parts_test
