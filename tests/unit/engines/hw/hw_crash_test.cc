// SPDX-License-Identifier: Apache-2.0
// Does engine hw keep exactly the committed transactions on a durable design, at whatever instant
// the power fails?
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "holdfast/engines/hw/hw.h"
#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "tests/unit/engines/engine_fixture.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::hw_crash_test {
namespace {

using Engine = Hardware<SimMachine>;
constexpr size_t kLines = 24;
using Lines = std::array<uint64_t, kLines>;

/// Transaction n in the order of the lock: moves the contents of some lines about, and counts
/// itself in line 0. The number n determines the lines.
template <class Get, class Set>
void move_about(uint64_t n, Get&& get, Set&& set) {
  Random random(n);
  const size_t lines = 1 + random.below(7);
  set(0, n);
  for (size_t i = 0; i < lines; ++i) {
    const size_t to = 1 + random.below(kLines - 1);
    const size_t from = 1 + random.below(kLines - 1);
    set(to, get(from) * 3 + n);
    set(to, get(to) + i);  // a second store to the line
  }
}

/// The states after each prefix of the transactions.
std::vector<Lines> prefixes(uint64_t transactions) {
  std::vector<Lines> states{Lines{}};
  for (uint64_t n = 1; n <= transactions; ++n) {
    Lines lines = states.back();
    move_about(n, [&](size_t i) { return lines[i]; }, [&](size_t i, uint64_t v) { lines[i] = v; });
    states.push_back(lines);
  }
  return states;
}

struct History {
  uint64_t started = 0;
  uint64_t acknowledged = 0;  ///< the latest one that was acknowledged to a client
};

constexpr int kThreads = 3;
constexpr uint64_t kRounds = 6;

EngineFixtureShape shape(bool wait) {
  return {.options = {{"wait", wait ? "1" : "0"}}, .bytes = kPageBytes, .max_threads = 8};
}

/// Runs transactions of which some abort, which leaves no trace.
void clients(EngineFixture<Engine>& heap, History& history, int threads, uint64_t rounds) {
  heap.machine().run_threads(threads, [&](int worker) {
    for (uint64_t round = 0; round < rounds; ++round) {
      uint64_t n = 0;
      const bool fails = (round + static_cast<uint64_t>(worker)) % 4 == 3;
      const auto body = [&] {
        n = heap.get(0) + 1;
        history.started = std::max(history.started, n);
        move_about(
            n, [&](size_t i) { return heap.get(8 * i); },
            [&](size_t i, uint64_t v) { heap.set(8 * i, v); });
        if (fails) {
          throw std::runtime_error("changed its mind");
        }
      };
      if (fails) {
        EXPECT_THROW(heap.engine().update(body), std::runtime_error);
      } else {
        heap.engine().update(body);
        history.acknowledged = std::max(history.acknowledged, n);
      }
    }
  });
}

Lines lines_of(EngineFixture<Engine>& heap) {
  Lines lines{};
  heap.engine().read([&] {
    for (size_t i = 0; i < kLines; ++i) {
      lines[i] = heap.get(8 * i);
    }
  });
  return lines;
}

struct Crash {
  SimImage image;
  History history;
  uint64_t events = 0;
};

Crash crash(const SimOptions& o, uint64_t event, bool wait) {
  SimMachine machine(o);
  EngineFixture<Engine> heap(machine, shape(wait));
  heap.format().check();
  const uint64_t before = machine.persist_events();
  if (event != kNever) {
    machine.crash_at(before + event);
  }
  Crash result;
  clients(heap, result.history, kThreads, kRounds);
  EXPECT_EQ(machine.crashed(), event != kNever);
  result.events = machine.persist_events() - before;
  result.image = machine.earliest_image();
  return result;
}

void sweep(const SimOptions& o, bool wait) {
  const uint64_t events = crash(o, kNever, wait).events;
  ASSERT_GT(events, 150u);
  const std::vector<Lines> states = prefixes(200);
  uint64_t discarded = 0;
  uint64_t completed = 0;
  for (uint64_t event = 0; event < events; ++event) {
    const Crash crashed = crash(o, event, wait);
    SimMachine machine(o, crashed.image);
    machine.power_on();
    discarded += machine.design_recovery().discarded;
    completed += machine.design_recovery().transactions;
    EngineFixture<Engine> heap(machine, shape(wait));
    heap.recover().check();
    const Lines lines = lines_of(heap);
    ASSERT_GE(lines[0], wait ? crashed.history.acknowledged : 0) << "event " << event;
    ASSERT_LE(lines[0], crashed.history.started) << "event " << event;
    ASSERT_EQ(lines, states[lines[0]]) << "event " << event;
    if (event % 16 == 0) {  // checks that the recovered machine works
      History more;
      clients(heap, more, 1, 5);
      ASSERT_EQ(lines_of(heap), states[lines_of(heap)[0]]);
    }
  }
  EXPECT_GT(discarded, 0u);
  EXPECT_GT(completed, 0u);
}

TEST(SimDesignCrash, TcKeepsExactlyTheCommittedTransactions) {
  sweep(options(roomy(), "tc"), true);
}

TEST(SimDesignCrash, TcOfFourEntriesWithEvictionsAndSpills) {
  sweep(options(tiny(), "tc", {{"bytes", "256"}}), true);
}

TEST(SimDesignCrash, TcWhoseClientsDoNotWait) {
  sweep(options(tiny(), "tc", {{"bytes", "512"}}), false);
}

TEST(SimDesignCrash, TcOnAMachineWhoseCachesSurvive) {
  SimOptions o = options(tiny(), "tc", {{"bytes", "256"}});
  o.domain = Domain::eadr;
  sweep(o, true);
}

TEST(SimDesignCrash, TheSameRunGivesTheSameImage) {
  const SimOptions o = options(tiny(), "tc", {{"bytes", "256"}});
  EXPECT_EQ(crash(o, 100, true).image, crash(o, 100, true).image);
}

TEST(SimDesignCrash, ClosingAHeapBringsEverythingToTheMedium) {
  for (const DesignInfo& design : hardware_designs()) {
    const SimOptions o = options(tiny(), design.name);
    SimImage image;
    {
      SimMachine machine(o);
      {
        EngineFixture<Engine> heap(machine, shape(true));
        heap.format().check();
        for (uint64_t i = 0; i < 50; ++i) {
          heap.write(i, i + 1);
        }
        // Below, the heap is mapped again on the same machine.
      }
      EngineFixture<Engine> again(machine, shape(true));
      EXPECT_EQ(again.read(49), 50u);
      image = machine.earliest_image();
    }
    SimMachine machine(o, image);
    machine.power_on();
    EngineFixture<Engine> heap(machine, shape(true));
    for (uint64_t i = 0; i < 50; ++i) {
      EXPECT_EQ(heap.read(i), i + 1) << design.name;
    }
  }
}

TEST(SimDesignCrash, EngineHwNeedsADesign) {
  SimMachine machine({.threads = 1});
  EngineFixture<Engine> heap(machine, shape(true));
  const Status status = heap.format();
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.message().find("--design"), std::string::npos);
  EXPECT_EQ(heap.recover().code(), Code::unsupported);
}

using H = Heap<AnyEngine<SimMachine>>;

struct Cells {
  static constexpr const char* kTypeName = "test.cells";
  static constexpr uint32_t kTypeVersion = 1;
  struct alignas(64) Cell {
    H::Field<int64_t> value{0};
  };
  Cell cell[8];
};

/// Checks that all cells agree, and returns their value: every cell counts the transactions.
int64_t cells_agree(H& heap) {
  auto* cells = heap.root<Cells>("cells").value();
  int64_t first = 0;
  heap.read([&] {
        first = cells->cell[0].value;
        for (auto& cell : cells->cell) {
          EXPECT_EQ(cell.value, first) << "half a transaction";
        }
      })
      .check();
  return first;
}

TEST(SimDesignCrash, AHeapOnEngineHwByName) {
  const SimOptions o = options(tiny(), "tc", {{"bytes", "256"}});
  CreateOptions create;
  create.engine = "hw";
  create.bytes = 64 << 10;
  create.max_bytes = 1 << 20;
  for (uint64_t event = 0; event < 200; event += 7) {
    SimImage image;
    int64_t told = 0;
    {
      SimMachine machine(o);
      auto heap = H::create(machine, create).value();
      auto* cells = heap->root<Cells>("cells").value();
      machine.crash_at(machine.persist_events() + event);
      machine.run_threads(2, [&](int) {
        for (int i = 0; i < 20; ++i) {
          int64_t n = 0;
          const Status status = heap->update([&] {
            for (auto& cell : cells->cell) {
              n = cell.value + 1;
              cell.value = n;
            }
          });
          if (!status.ok()) {
            return;
          }
          told = std::max(told, n);
        }
      });
      ASSERT_TRUE(machine.crashed());
      image = machine.earliest_image();
    }
    SimMachine machine(o, image);
    machine.power_on();
    auto heap = H::open(machine, {});
    ASSERT_TRUE(heap.ok()) << heap.status().to_string();
    const int64_t count = cells_agree(**heap);
    EXPECT_GE(count, told) << event;
    EXPECT_LE(count, told + 2) << event;
  }
}

TEST(SimDesignCrash, AHeapOnEngineHwIsClosedAndOpened) {
  const SimOptions o = options(tiny(), "tc");
  SimImage image;
  {
    SimMachine machine(o);
    CreateOptions create;
    create.engine = "hw";
    create.bytes = 64 << 10;
    auto heap = H::create(machine, create).value();
    auto* cells = heap->root<Cells>("cells").value();
    for (int i = 0; i < 9; ++i) {
      heap->update([&] {
            for (auto& cell : cells->cell) {
              cell.value += 1;
            }
          })
          .check();
    }
    heap->close().check();
    image = machine.earliest_image();
  }
  SimMachine machine(o, image);
  machine.power_on();
  auto heap = H::open(machine, {});
  ASSERT_TRUE(heap.ok()) << heap.status().to_string();
  EXPECT_EQ(cells_agree(**heap), 9);
}

}  // namespace
}  // namespace holdfast::design_test::hw_crash_test
