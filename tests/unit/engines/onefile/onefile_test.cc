// SPDX-License-Identifier: Apache-2.0
// Does OneFile cost what its page says, do threads commit beside one that has stopped, and
// is what somebody has seen durable?
#include "holdfast/engines/onefile/onefile.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "holdfast/base/round.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::onefile_test {
namespace {

using Engine = OneFile<SimMachine>;
using Heap = EngineFixture<Engine>;

EngineFixtureShape shape(const std::string& log_bytes = "2048") {
  EngineFixtureShape s;
  s.options = {{"log_bytes", log_bytes}};
  s.bytes = 2 * kPageBytes;
  s.max_threads = 3;
  return s;
}

SimOptions options() {
  SimOptions o;
  o.threads = 3;
  return o;
}

struct World {
  explicit World(const SimOptions& o = options(), const SimImage& image = {})
      : machine(o, image), heap(machine, shape()) {
    if (image.empty()) {
      heap.format().check();
    }
    heap.recover().check();
  }
  void set_all(size_t n, uint64_t value) {
    heap.engine().update([&] {
      for (size_t i = 0; i < n; ++i) {
        heap.set(3 * i, value);
      }
    });
  }
  SimMachine machine;
  Heap heap;
};

/// All legal images at all persist events of `run`, and after it.
template <class F>
std::vector<SimImage> images_of(World& world, F&& run, uint64_t limit = 64) {
  std::vector<SimImage> images;
  const auto look = [&] {
    world.machine.for_each_image(limit, [&](const SimImage& image) {
      images.push_back(image);
      return true;
    });
  };
  world.machine.before_persist_event([&](uint64_t) { look(); });
  world.machine.run_threads(1, [&](int) { run(); });
  world.machine.before_persist_event({});
  look();
  return images;
}

// ---- what it costs

struct Cost {
  PersistCounters persist;
  uint64_t atomics;
};

template <class F>
Cost cost_of(World& world, F&& transaction) {
  const PersistCounters before = world.machine.counters();
  const uint64_t atomics = world.machine.statistics().atomics;
  transaction();
  return {world.machine.counters() - before, world.machine.statistics().atomics - atomics};
}

TEST(OneFileCost, NoFenceWhereReadModifyWritesOrderWriteBacksElseThree) {
  for (const size_t line : {64u, 128u}) {
    for (const bool orders : {true, false}) {
      for (size_t n = 1; n <= 40; ++n) {
        SimOptions o = options();
        o.line_bytes = line;
        o.rmw_orders_pwb = orders;
        World world(o);
        for (const uint64_t value : {1u, 2u}) {  // the first store to a word, and the next one
          const Cost cost = cost_of(world, [&] { world.set_all(n, value); });
          std::set<size_t> cells;  // words 24 bytes apart, cells 48
          for (size_t i = 0; i < n; ++i) {
            cells.insert(48 * i / line);
          }
          EXPECT_EQ(cost.persist.pwb, (16 * n + line - 1) / line + 1 + cells.size()) << n;
          // The paper's figure, which counts a write-back for each word.
          EXPECT_LE(cost.persist.pwb, (16 * (n + 1) + line - 1) / line + 1 + n);
          EXPECT_EQ(cost.persist.pfence, orders ? 0u : 3u);
          EXPECT_EQ(cost.persist.psync, 0u);
          EXPECT_EQ(cost.persist.fence, 0u);
          EXPECT_EQ(cost.atomics, 2 + n);
        }
      }
    }
  }
}

TEST(OneFileCost, NothingForTransactionsThatStoreNothing) {
  World world;
  world.set_all(4, 1);
  const Cost cost = cost_of(world, [&] {
    EXPECT_EQ(world.heap.read(0), 1u);
    world.heap.engine().update([&] { static_cast<void>(world.heap.get(3)); });
  });
  EXPECT_EQ(cost.persist.pwb + cost.persist.pfence + cost.persist.psync, 0u);
  EXPECT_EQ(cost.atomics, 0u);
}

TEST(OneFileCost, ATransactionLargerThanItsLogIsRefusedAndLeavesNothing) {
  World world;
  world.set_all(3, 7);
  const auto large = [&](size_t n) { world.set_all(n, 8); };
  large(128);
  world.set_all(3, 7);
  try {
    large(129);
    FAIL() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), Code::too_large);
    EXPECT_NE(error.status().message().find("2048"), std::string::npos);
  }
  EXPECT_EQ(world.heap.read(0), 7u);
  EXPECT_EQ(world.heap.read(9), 8u);
}

// ---- words, and what is smaller or larger

TEST(OneFileWords, ShortStoresKeepTheBytesAroundThem) {
  World world;
  auto& heap = world.heap;
  auto* const bytes = reinterpret_cast<std::byte*>(heap.word(0));
  const auto byte = [&](size_t i) { return reinterpret_cast<uint8_t*>(bytes) + i; };
  heap.write(0, 0x1111'1111'1111'1111);
  heap.write(1, 0x2222'2222'2222'2222);
  heap.engine().update([&] {
    Engine::store(byte(3), uint8_t{0xab});
    EXPECT_EQ(heap.get(0), 0x1111'1111'ab11'1111u) << "its own store over what is there";
    EXPECT_EQ(Engine::load(byte(3)), 0xab);
    EXPECT_EQ(Engine::load(byte(2)), 0x11);
    const uint32_t five[2] = {0x5555'5555, 0x6666'6666};
    Engine::store_range(bytes + 6, five, sizeof five);
    uint32_t back[2] = {};
    Engine::load_range(back, bytes + 6, sizeof back);
    EXPECT_EQ(back[1], 0x6666'6666u);
  });
  EXPECT_EQ(heap.read(0), 0x5555'1111'ab11'1111u);
  EXPECT_EQ(heap.read(1), 0x2222'6666'6666'5555u);
}

/// A word that no transaction has ever stored to has the value it has in the data: what a heap was
/// created with.
TEST(OneFileWords, WhatIsInTheDataCountsUntilItIsStoredTo) {
  World world;
  SimMachine::store(world.heap.word(7), uint64_t{77});
  SimMachine::store(world.heap.word(8), uint64_t{88});
  EXPECT_EQ(world.heap.read(7), 77u);
  world.heap.engine().update([&] { world.heap.set(7, world.heap.get(7) + 1); });
  EXPECT_EQ(world.heap.read(7), 78u);
  EXPECT_EQ(SimMachine::load(world.heap.word(7)), 77u);
  world.heap.engine().close().check();
  EXPECT_EQ(SimMachine::load(world.heap.word(7)), 78u);
  EXPECT_EQ(SimMachine::load(world.heap.word(8)), 88u);
}

// ---- recovery

TEST(OneFileRecovery, EveryImageShowsAllOfATransactionOrNothing) {
  for (const bool orders : {true, false}) {
    SimOptions o = options();
    o.rmw_orders_pwb = orders;
    std::vector<SimImage> images;
    {
      World world(o);
      world.set_all(5, 1);
      images = images_of(world, [&] { world.set_all(5, 2); });
    }
    std::set<uint64_t> seen;
    uint64_t applied = 0;
    for (SimImage image : images) {
      for (int round = 0; round < 2; ++round) {  // the second time after a recovery
        World after(o, image);
        applied += after.heap.report().transactions;
        const uint64_t value = after.heap.read(0);
        for (size_t i = 1; i < 5; ++i) {
          ASSERT_EQ(after.heap.read(3 * i), value);
        }
        EXPECT_EQ(SimMachine::load(after.heap.word(0)), value)
            << "the data have what the cells say";
        seen.insert(value);
        image = after.machine.earliest_image();
      }
    }
    EXPECT_EQ(seen, (std::set<uint64_t>{1, 2}));
    EXPECT_GT(applied, 0u);
  }
}

TEST(OneFileRecovery, MayBeCutShortAgainAndAgain) {
  std::vector<SimImage> images;
  {
    World world;
    world.set_all(3, 1);
    images = images_of(world, [&] { world.set_all(3, 2); }, 4);
  }
  for (const SimImage& image : images) {
    for (uint64_t event = 0;; ++event) {
      SimImage cut;
      bool crashed = false;
      {
        SimMachine machine(options(), image);
        Heap heap(machine, shape());
        machine.crash_at(event);
        machine.run_threads(1, [&](int) { static_cast<void>(heap.recover()); });
        crashed = machine.crashed();
        cut = machine.latest_image();
      }
      World after(options(), cut);
      ASSERT_EQ(after.heap.read(0), after.heap.read(3)) << "crash before event " << event;
      ASSERT_EQ(after.heap.read(0), after.heap.read(6));
      after.set_all(3, 5);
      ASSERT_EQ(after.heap.read(6), 5u);
      if (!crashed) {
        break;
      }
    }
  }
}

/// A log may hold entries of an attempt that came to nothing, while the medium still says that the
/// transaction before it is pending.
TEST(OneFileRecovery, ALogThatWasOverwrittenIsNotApplied) {
  SimImage image;
  {
    World world;
    world.set_all(2, 1);
    // The newest transaction is over, but the medium may not know.
    image = world.machine.earliest_image();
    const onefile::Area area = onefile::area(shape().options, 3).value();
    const auto* const newest =
        reinterpret_cast<const DoubleWord*>(image.data() + onefile::Area::kNewestOffset);
    ASSERT_EQ(onefile::entries_of(*newest), 2u);
    const uint64_t slot = onefile::slot_of(*newest);
    auto* const entry = reinterpret_cast<DoubleWord*>(image.data() + area.log_offset(slot));
    ASSERT_EQ(WordPlace::offset(entry->second), 0u);
    *entry = {99, WordPlace::of(uint64_t{8} * 30, onefile::sequence_of(*newest) + 1)};
  }
  World after(options(), image);
  EXPECT_EQ(after.heap.report().transactions, 0u);
  EXPECT_EQ(after.heap.read(0), 1u);
  EXPECT_EQ(after.heap.read(3), 1u);
  EXPECT_EQ(after.heap.read(30), 0u);
  after.set_all(2, 2);
  EXPECT_EQ(after.heap.read(30), 0u) << "nor does anybody help with it";
}

/// The log of the transaction before, at any moment of the attempt that overwrites it.
TEST(OneFileRecovery, ALogThatIsBeingOverwrittenIsNotApplied) {
  std::vector<SimImage> images;
  {
    World world;
    world.heap.write(3, 1);
    world.heap.write(9, 1);
    images = images_of(world, [&] { world.heap.write(9, 2); });
  }
  std::set<uint64_t> seen;
  for (const SimImage& image : images) {
    World after(options(), image);
    const uint64_t value = after.heap.read(9);
    ASSERT_EQ(SimMachine::load(after.heap.word(9)), value) << "data and cell differ";
    ASSERT_EQ(after.heap.read(3), 1u);
    seen.insert(value);
  }
  EXPECT_EQ(seen, (std::set<uint64_t>{1, 2}));
}

TEST(OneFileRecovery, SequencesGoOnAboveAllThatWereEverGiven) {
  SimImage image;
  {
    World world;
    for (uint64_t i = 0; i < 20; ++i) {
      world.heap.write(i, i);
    }
    image = world.machine.latest_image();
  }
  for (uint64_t life = 0; life < 4; ++life) {
    World world(options(), image);
    EXPECT_TRUE(world.heap.report().needed);
    EXPECT_EQ(world.heap.read(0), life == 0 ? 0 : 100 + life - 1);
    EXPECT_EQ(world.heap.read(19), 19u);
    world.heap.write(0, 100 + life);
    image = world.machine.earliest_image();
  }
}

TEST(OneFileRecovery, AfterACloseThereIsNothingToDo) {
  SimImage image;
  {
    World world;
    world.set_all(20, 3);
    world.heap.engine().close().check();
    image = world.machine.earliest_image();
  }
  World after(options(), image);
  EXPECT_FALSE(after.heap.report().needed);
  EXPECT_EQ(after.heap.read(3), 3u);
}

TEST(OneFileRecovery, DamageIsRefusedAndChangesNothing) {
  SimImage good;
  {
    World world;
    world.set_all(4, 5);
    good = world.machine.earliest_image();
  }
  const onefile::Area area = onefile::area(shape().options, 3).value();
  const size_t page = round_up(area.bytes, kPageBytes);
  const size_t cell = page + shape().bytes;
  const size_t newest = onefile::Area::kNewestOffset;
  for (const size_t at : {size_t{0}, size_t{9}, onefile::Area::kBaseOffset, newest + 1, newest + 7,
                          newest + 9, cell + 8 + 2, cell + 8 + 7}) {
    SimImage bad = good;
    bad[at] ^= std::byte{0x40};
    SimMachine machine(options(), bad);
    Heap heap(machine, shape());
    EXPECT_EQ(heap.recover().code(), Code::corrupt) << "byte " << at;
    EXPECT_TRUE(machine.latest_image() == bad);
  }
}

// ---- helping

struct Stops {};

/// A machine of three workers, of whom the first stops for ever before its n-th persist event: at
/// every step of its commits that others could notice.
struct Stopping {
  explicit Stopping(uint64_t seed, bool orders = true) : world(with(seed, orders)) {}
  static SimOptions with(uint64_t seed, bool orders) {
    SimOptions o = options();
    o.seed = seed;
    o.store_buffer = 0;  // so that its events are its own
    o.rmw_orders_pwb = orders;
    return o;
  }
  /// Runs others(i) beside and after first(). False: the first one came to its end.
  template <class F, class G>
  bool run(uint64_t n, F&& first, G&& others) {
    int slot = -1;
    bool stopped = false;
    world.machine.before_persist_event([&](uint64_t) {
      if (world.machine.self() == slot && !stopped && n-- == 0) {
        stopped = true;
        throw Stops();
      }
    });
    world.machine.run_threads(3, [&](int worker) {
      if (worker != 0) {
        others(worker);
        return;
      }
      slot = world.machine.self();
      try {
        first();
      } catch (const Stops&) {
        slot = -1;  // it never comes back
      }
    });
    world.machine.before_persist_event({});
    return stopped;
  }
  World world;
};

TEST(OneFileProgress, AThreadThatStopsAnywhereKeepsNobodyFromCommitting) {
  for (const bool orders : {true, false}) {
    bool stopped = true;
    uint64_t points = 0;
    uint64_t helped = 0;
    for (uint64_t n = 0; stopped; ++n) {
      Stopping test(n + 1, orders);
      auto& heap = test.world.heap;
      const auto add_one = [&] {
        heap.engine().update([&] {
          for (size_t i = 0; i < 4; ++i) {
            heap.set(5 * i, heap.get(5 * i) + 1);
          }
        });
      };
      uint64_t first = 0;
      uint64_t others = 0;
      stopped = test.run(
          n,
          [&] {
            for (; first < 3; ++first) {
              add_one();
            }
          },
          [&](int) {
            for (int i = 0; i < 6; ++i, ++others) {
              add_one();
            }
          });
      EXPECT_EQ(others, 12u);
      const uint64_t sum = heap.read(0);
      for (size_t i = 1; i < 4; ++i) {
        ASSERT_EQ(heap.read(5 * i), sum) << "stopped before event " << n;
      }
      // Other threads may have finished its work.
      ASSERT_GE(sum, first + others);
      ASSERT_LE(sum, first + others + (stopped ? 1 : 0));
      helped += sum - first - others;
      points += stopped ? 1 : 0;
    }
    EXPECT_GT(points, 30u);
    EXPECT_GT(helped, 10u);
  }
}

/// A thread that continues another's work makes durable what it then sees.
TEST(OneFileProgress, WhatAReaderHasSeenOfAStoppedThreadIsDurable) {
  bool stopped = true;
  std::map<uint64_t, int> seen;
  for (uint64_t n = 0; stopped; ++n) {
    SimImage image;
    uint64_t value = 0;
    {
      Stopping test(n + 1);
      auto& world = test.world;
      world.set_all(4, 1);
      stopped = test.run(n, [&] { world.set_all(4, 2); }, [](int) {});
      world.machine.run_threads(1, [&](int) { value = world.heap.read(0); });
      image = world.machine.earliest_image();
    }
    ++seen[value];
    World after(options(), image);
    for (size_t i = 0; i < 4; ++i) {
      ASSERT_GE(after.heap.read(3 * i), value) << "stopped before event " << n;
    }
  }
  EXPECT_GT(seen[1], 0);
  EXPECT_GT(seen[2], 0);
}

/// Many threads at one pending transaction: a helper whose copy is torn, or that comes late, must
/// not store what is not of that transaction.
TEST(OneFileProgress, HelpersThatComeLateStoreNothingOld) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SimOptions o = options();
    o.seed = seed;
    o.switch_probability = seed % 2 == 0 ? 0.5 : 0.05;
    World world(o);
    auto& heap = world.heap;
    world.machine.run_threads(3, [&](int worker) {
      for (uint64_t i = 0; i < 4; ++i) {
        heap.engine().update([&] {
          // Each leaves other words alone, so that entries of one log differ from one to the next.
          const size_t from = (static_cast<size_t>(worker) + i) % 3;
          for (size_t k = from; k < from + 3; ++k) {
            heap.set(k, heap.get(k) + 1);
          }
        });
      }
    });
    uint64_t sum = 0;
    for (size_t k = 0; k < 5; ++k) {
      sum += heap.read(k);
    }
    ASSERT_EQ(sum, 36u) << "seed " << seed;
    EXPECT_EQ(heap.read(2), 12u) << "seed " << seed;
  }
}

/// A block that was freed and given to somebody else is still made of the same cells, whose
/// sequences have gone on: a reader with an old pointer begins anew.
TEST(OneFileProgress, AnOldPointerLeadsToNothingNew) {
  SimOptions o = options();
  o.drain_probability = 1;
  World world(o);
  auto& heap = world.heap;
  world.heap.engine().update([&] {
    heap.set(0, 10);  // "points" to word 10
    heap.set(10, 111);
  });
  auto* const step = make_object<SimMachine::Atomic<uint64_t>>(world.machine);
  std::vector<uint64_t> seen;
  world.machine.run_threads(2, [&](int worker) {
    if (worker == 0) {
      heap.engine().read([&] {
        const uint64_t pointer = heap.get(0);
        if (step->load() == 0) {
          step->store(1);
          while (step->load() == 1) {
            world.machine.wait_while(*step, uint64_t{1});
          }
        }
        seen.push_back(pointer);
        seen.push_back(heap.get(pointer));
      });
    } else {
      while (step->load() == 0) {
        world.machine.wait_while(*step, uint64_t{0});
      }
      heap.engine().update([&] {
        heap.set(0, 20);
        heap.set(20, 222);
        heap.set(10, 333);  // somebody else's now
      });
      step->store(2);
    }
  });
  // The first attempt ends at the load, before it can note what it saw.
  EXPECT_EQ(seen, (std::vector<uint64_t>{10, 20, 222}));
}

}  // namespace
}  // namespace holdfast::onefile_test
