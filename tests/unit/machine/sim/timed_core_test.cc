// SPDX-License-Identifier: Apache-2.0
// Do the simulated cores overlap, wait and fence as their rules say, to the picosecond? Numbered,
// one rule each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/unit/machine/sim/timed_machine.h"

namespace holdfast::timed_core_test {
namespace {

constexpr double kOp = 1;  ///< one memory operation

size_t at(Level level) {
  return static_cast<size_t>(level);
}

// 1. Loads that do not depend on each other overlap, up to the number of miss registers.
TEST(SimTimedCore, R01_IndependentLoadsOverlapUpToTheMissRegisters) {
  const auto loads = [](size_t n) {
    TimedBench b;
    double taken = 0;
    b.on(0, [&] {
      taken = b.cycles([&] {
        for (size_t i = 0; i < n; ++i) {
          SimMachine::load(b.line(i));
        }
        b.m.fence();
      });
    });
    return taken;
  };
  EXPECT_EQ(loads(1), kDram);
  EXPECT_EQ(loads(10), 9 * kOp + kDram) << "ten registers: each a cycle behind the one before";
  EXPECT_EQ(loads(11), kDram + kDram) << "the eleventh begins when the first register is free";
  EXPECT_EQ(loads(12), kDram + kOp + kDram) << "... the twelfth when the second is";
}

// 2. Loads whose address is the value of another load do not overlap with it.
TEST(SimTimedCore, R02_DependentLoadsDoNotOverlap) {
  TimedBench b;
  for (size_t i = 0; i < 4; ++i) {
    SimMachine::store(b.line(i), reinterpret_cast<uint64_t>(b.line(i + 1)));
  }
  b.on(0, [&] {
    EXPECT_EQ(b.cycles([&] {
      const uint64_t* p = b.line(0);
      for (int i = 0; i < 4; ++i) {
        p = reinterpret_cast<const uint64_t*>(SimMachine::load(p));
      }
      b.m.fence();
    }),
              4 * kDram);
  });
}

// 3. A load may not run further ahead of an older miss than the re-order buffer allows.
TEST(SimTimedCore, R03_TheReorderBufferLimitsHowFarALoadRunsAhead) {
  MachineDescription machine = round_machine();
  machine.core.window = 16;
  TimedBench b(machine);
  b.on(0, [&] {
    b.touch(b.line(1));
    const auto stalled = [&] { return b.m.statistics(b.m.self()).stall_load / kNs; };
    const Time start = stalled();
    SimMachine::load(b.line(0));  // instruction 0: a miss
    for (int i = 1; i <= 15; ++i) {
      SimMachine::load(b.line(1));
    }
    EXPECT_EQ(stalled() - start, 0u) << "sixteen instructions fit";
    SimMachine::load(b.line(1));
    EXPECT_EQ(stalled() - start, kDram - 16) << "the seventeenth waits for the first to return";
    b.m.fence();
    SimMachine::load(b.line(2));
    b.m.work(15);
    SimMachine::load(b.line(1));
    EXPECT_EQ(stalled() - start, kDram - 16 + kDram - 16) << "work() takes room as well";
  });
}

// 4. If the store buffer is full, the next store waits until the oldest one leaves.
TEST(SimTimedCore, R04_AFullStoreBufferStallsTheThread) {
  MachineDescription machine = round_machine();
  machine.core.store_buffer = 4;
  TimedBench b(machine);
  b.on(0, [&] {
    b.store_latency(b.line(1));
    const auto stalled = [&] { return b.m.statistics(b.m.self()).stall_buffer / kNs; };
    EXPECT_EQ(b.cycles([&] {
      SimMachine::store(b.line(0), uint64_t{1});  // asks for its line after one cycle
      for (int i = 0; i < 3; ++i) {
        SimMachine::store(b.line(1), uint64_t{1});
      }
    }),
              4 * kOp);
    EXPECT_EQ(stalled(), 0u);
    EXPECT_EQ(b.cycles([&] { SimMachine::store(b.line(1), uint64_t{1}); }), 1 + kDram - 4 + kOp);
    EXPECT_EQ(stalled(), 1 + kDram - 4);
  });
}

// 5. Stores ask for their lines when they enter. So their misses overlap; the stores leave in
// order.
TEST(SimTimedCore, R05_StoresFetchTheirLinesAtTheSameTime) {
  const auto stores = [](int misses) {
    MachineDescription machine = round_machine();
    machine.core.misses = misses;
    TimedBench b(machine);
    double taken = 0;
    b.on(0, [&] {
      taken = b.cycles([&] {
        for (size_t i = 0; i < 8; ++i) {
          SimMachine::store(b.line(i), uint64_t{1});
        }
        b.m.fence();
      });
    });
    return taken;
  };
  EXPECT_EQ(stores(10), 8 * kOp + kDram);
  EXPECT_EQ(stores(2), 2 * kOp + 4 * kDram) << "two at a time";
  EXPECT_EQ(stores(1), kOp + 8 * kDram);
}

// 5. A store leaves after the loads before it, because retirement is in order.
TEST(SimTimedCore, R05_AStoreLeavesBehindOlderLoads) {
  MachineDescription machine = round_machine();
  machine.core.store_buffer = 4;
  TimedBench b(machine);
  b.on(0, [&] {
    b.store_latency(b.line(1));
    const auto stalled = [&] { return b.m.statistics(b.m.self()).stall_buffer / kNs; };
    SimMachine::load(b.line(0));
    for (int i = 0; i < 4; ++i) {
      SimMachine::store(b.line(1), uint64_t{1});
    }
    EXPECT_EQ(stalled(), 0u);
    SimMachine::store(b.line(1), uint64_t{1});
    EXPECT_EQ(stalled(), kDram - 5);
  });
}

// 5. A load of a word in the store buffer has its value at once. A load of the next word has it
// when the line arrives.
TEST(SimTimedCore, R05_TheStoreBufferForwards) {
  for (const size_t word : {size_t{0}, size_t{1}}) {
    TimedBench b;
    b.on(0, [&] {
      EXPECT_EQ(b.cycles([&] {
        SimMachine::store(b.line(0), reinterpret_cast<uint64_t>(b.line(1)));
        SimMachine::store(b.line(0) + 2, uint64_t{0});
        const uint64_t value = SimMachine::load(b.line(0) + word);
        SimMachine::load(word == 0 ? reinterpret_cast<uint64_t*>(value) : b.line(1));
        b.m.fence();
      }),
                word == 0 ? 2 * kOp + kL1 + kDram : 3 * kOp + kDram);
    });
  }
}

// 6. A store that has its line waits behind an older store that does not.
TEST(SimTimedCore, R06_StoresLeaveInOrder) {
  TimedBench b;
  b.on(0, [&] { b.store_latency(b.line(1)); });
  uint64_t early = 99;
  uint64_t late = 99;
  double fenced = 0;
  b.m.run_threads(2, [&](int i) {
    if (i == 0) {
      fenced = b.cycles([&] {
        SimMachine::store(b.line(0), uint64_t{7});
        SimMachine::store(b.line(1) + 1, uint64_t{7});
        b.m.fence();
      });
    } else {
      b.m.work(1 + kDram);
      early = SimMachine::load(b.line(1) + 1);
      b.m.work(100);
      late = SimMachine::load(b.line(1) + 1);
    }
  });
  EXPECT_EQ(early, 0u) << "at the instant the first store leaves the second is still waiting";
  EXPECT_EQ(late, 7u);
  EXPECT_EQ(fenced, 1 + kDram + 1 + kPeer)
      << "a cycle later, and then the other thread had the line";
}

// 7. A fence waits for loads and for the own store buffer, and for nothing else.
TEST(SimTimedCore, R07_AFenceWaitsForWhatItMust) {
  TimedBench b;
  b.on(0, [&] {
    EXPECT_EQ(b.cycles([&] { b.m.fence(); }), 0) << "nothing to wait for";
    EXPECT_EQ(b.cycles([&] {
      SimMachine::load(b.line(0));
      SimMachine::store(b.line(0), uint64_t{1});
      b.m.fence();
    }),
              kDram)
        << "the load; the store has its line then";
    EXPECT_EQ(b.cycles([&] {
      SimMachine::store(b.line(1), uint64_t{1});
      b.m.fence();
    }),
              kOp + kDram);
  });
  b.m.run_threads(2, [&](int i) {
    if (i == 0) {
      SimMachine::store(b.line(2), uint64_t{1});
      b.m.pwb(b.medium_line(0));
    } else {
      EXPECT_EQ(b.cycles([&] { b.m.fence(); }), 0) << "another thread's stores are not waited for";
    }
  });
}

struct Ordered {
  double fence = 0;
  double atomic = 0;
  double psync = 0;
};

/// Measures each of the three operations behind a store and its write-back.
Ordered behind_a_write_back(bool rmw_orders) {
  MachineDescription machine = round_machine();
  machine.persistence.rmw_orders_pwb = rmw_orders;
  TimedBench b(machine);
  Ordered result;
  b.on(0, [&] {
    b.store_latency(b.line(0));
    const auto timed = [&](auto&& operation) {
      b.store_latency(b.medium_line(0));
      const double taken = b.cycles([&] {
        b.m.pwb(b.medium_line(0));
        operation();
      });
      b.m.psync();
      return taken;
    };
    result.fence = timed([&] { b.m.fence(); });
    result.atomic = timed([&] { b.atomic(0).fetch_add(1); });
    result.psync = timed([&] { b.m.psync(); });
  });
  return result;
}

// 8. psync waits for write-backs. Fences and atomics do so on machines where they order
// write-backs.
TEST(SimTimedCore, R08_WhichOperationsWaitForWriteBacks) {
  const Ordered x86 = behind_a_write_back(true);
  EXPECT_EQ(x86.fence, kOp + kAccept);
  EXPECT_EQ(x86.atomic, kOp + kAccept + kAtomic + kOp);
  EXPECT_EQ(x86.psync, kOp + kAccept);
  const Ordered power = behind_a_write_back(false);
  EXPECT_EQ(power.fence, kOp);
  EXPECT_EQ(power.atomic, kOp + kAtomic + kOp);
  EXPECT_EQ(power.psync, kOp + kAccept);
}

// 9. Write-backs of one thread overlap. psync has a cost of its own on top.
TEST(SimTimedCore, R09_WriteBacksOverlap) {
  MachineDescription machine = round_machine();
  machine.persistence.fence_ns = 7;
  TimedBench b(machine);
  b.on(0, [&] {
    for (size_t i = 0; i < 8; ++i) {
      b.store_latency(b.medium_line(i));
    }
    EXPECT_EQ(b.cycles([&] {
      for (size_t i = 0; i < 8; ++i) {
        b.m.pwb(b.medium_line(i));
      }
      b.m.psync();
    }),
              8 * kOp + kAccept + 7);
  });
}

// 10. psync waits until the write queue has accepted the lines. If the queue is full, it accepts a
// line when an earlier write is done.
TEST(SimTimedCore, R10_PsyncWaitsForTheWriteQueueToAccept) {
  MachineDescription machine = round_machine();
  machine.medium.banks = 1;
  machine.medium.write_queue = 2;
  machine.medium.drain_batch = 1;
  TimedBench b(machine);
  sim::MemoryController expected(machine.medium, machine.line_bytes);
  Time accepted = 0;
  b.on(0, [&] {
    for (size_t i = 0; i < 4; ++i) {
      b.store_latency(b.medium_line(i));
    }
    const Time start = b.m.now();
    for (size_t i = 0; i < 4; ++i) {
      b.m.pwb(b.medium_line(i));
      const auto address = reinterpret_cast<uintptr_t>(b.medium_line(i));
      const Time leaves = start + (i + 1) * kNs;
      accepted =
          std::max(accepted, expected.write((address - sim::kArenaBase) / 64, leaves + kLlc * kNs));
    }
    b.m.psync();
    EXPECT_EQ(b.m.now(), accepted);
    EXPECT_GE(accepted - start, 2 * (500 * kNs)) << "two writes had to finish first";
  });
}

// 11. If the persistence domain includes the caches, a write-back does nothing, and psync is only a
// fence.
TEST(SimTimedCore, R11_WithEadrOnlyTheStoreBufferIsWaitedFor) {
  TimedBench b(round_machine(), Domain::eadr);
  b.on(0, [&] {
    b.store_latency(b.medium_line(0));
    EXPECT_EQ(b.cycles([&] { b.m.pwb(b.medium_line(0)); }), 0);
    EXPECT_EQ(b.cycles([&] {
      SimMachine::store(b.medium_line(0), uint64_t{2});
      b.m.pwb(b.medium_line(0));
      b.m.psync();
    }),
              kOp);
    EXPECT_EQ(b.level(b.medium_line(0)), Level::l1);
  });
  EXPECT_EQ(b.m.statistics().medium_writes, 0u);
}

// 12. An atomic waits for all operations before it, and none overtakes it.
TEST(SimTimedCore, R12_AtomicsSerialise) {
  TimedBench b;
  b.on(0, [&] {
    b.atomic(0).fetch_add(1);
    EXPECT_EQ(b.cycles([&] { b.atomic(0).fetch_add(1); }), kAtomic + kOp);
    EXPECT_EQ(b.cycles([&] {
      SimMachine::load(b.line(1));
      b.atomic(0).fetch_add(1);
    }),
              kDram + kAtomic + kOp)
        << "behind a load that misses";
    EXPECT_EQ(b.cycles([&] {
      SimMachine::store(b.line(2), uint64_t{1});
      b.atomic(0).fetch_add(1);
    }),
              kOp + kDram + kAtomic + kOp)
        << "behind a store that misses";
    EXPECT_EQ(b.cycles([&] {
      b.atomic(3).fetch_add(1);
      b.atomic(4).fetch_add(1);
    }),
              2 * (kDram + kAtomic + kOp))
        << "two that miss";
  });
}

// 13. Two threads of a core are slower, each with half the window and half the miss registers.
TEST(SimTimedCore, R13_ThreadsOfACoreShareIt) {
  constexpr int kCores = 4;
  const auto beside_others = [](int threads, auto&& f) {
    MachineDescription machine = round_machine();
    machine.core.window = 16;
    TimedBench b(machine);
    double taken = 0;
    b.m.run_threads(threads, [&](int i) {
      if (i == 0) {
        taken = b.cycles([&] { f(b); });
      }
    });
    return taken;
  };
  const auto work = [](TimedBench& b) { b.m.work(100); };
  EXPECT_EQ(beside_others(kCores, work), 100) << "a core each";
  EXPECT_EQ(beside_others(kCores + 1, work), 200) << "core 0 has two threads now";
  const auto six_misses = [](TimedBench& b) {
    for (size_t i = 0; i < 6; ++i) {
      SimMachine::load(b.line(i));
    }
    b.m.fence();
  };
  EXPECT_EQ(beside_others(kCores, six_misses), 5 * kOp + kDram);
  EXPECT_EQ(beside_others(kCores + 1, six_misses), 2 * kDram) << "five registers";
  const auto seventeen = [](TimedBench& b) {
    b.touch(b.line(1));
    SimMachine::load(b.line(0));
    b.m.work(7);
    SimMachine::load(b.line(1));  // instruction 8 behind the miss
  };
  EXPECT_EQ(beside_others(kCores, seventeen), kDram + kOp + 7 + kOp);
  EXPECT_EQ(beside_others(kCores + 1, seventeen), kDram + kDram + 2 * kOp) << "half the window";
}

// 14. Private computation takes its cycles and counts as instructions.
TEST(SimTimedCore, R14_WorkTakesTimeAndCountsInstructions) {
  TimedBench b;
  b.on(0, [&] {
    const uint64_t before = b.m.statistics(b.m.self()).instructions;
    EXPECT_EQ(b.cycles([&] { b.m.work(12345); }), 12345);
    EXPECT_EQ(b.m.statistics(b.m.self()).instructions - before, 12345u);
    EXPECT_EQ(b.cycles([&] { b.m.pause(); }), 10);
  });
}

// 15. A waiting thread costs the host nothing. It continues one transfer after the store became
// visible.
TEST(SimTimedCore, R15_AHandOverTakesOneTransfer) {
  TimedBench b;
  constexpr Time kLong = 1'000'000;
  Time woken = 0;
  const Time start = b.m.now();
  b.m.run_threads(2, [&](int i) {
    if (i == 0) {
      b.m.work(kLong);
      b.atomic(0).store(1, std::memory_order_release);
    } else {
      b.m.wait_while(b.atomic(0), uint64_t{0});
      woken = (b.m.now() - start) / kNs;
    }
  });
  const Time visible = kLong + 1 + kPeer;  // an upgrade: the waiting thread had a copy
  EXPECT_EQ(woken, visible + kPeer);
  EXPECT_LT(b.m.steps(), 20u) << "no polling";
  EXPECT_EQ(b.m.statistics(sim::kFirstWorker + 1).load_from[at(Level::peer)], 1u);
  EXPECT_EQ(b.m.statistics(sim::kFirstWorker + 1).blocked / kNs, visible - kOp);
}

// 16. If another core takes a line before the store has left, the line is fetched again, once. Then
// the store leaves, even if the line is taken again.
TEST(SimTimedCore, R16_AStolenLineIsFetchedAgainOnce) {
  for (const uint64_t thieves : {uint64_t{1}, uint64_t{2}}) {
    TimedBench b;
    b.on(0, [&] { b.store_latency(b.line(1)); });
    double fenced = 0;
    b.m.run_threads(static_cast<int>(thieves) + 1, [&](int i) {
      if (i == 0) {
        fenced = b.cycles([&] {
          SimMachine::store(b.line(0), uint64_t{1});
          SimMachine::store(b.line(1), uint64_t{1});
          b.m.fence();
        });
      } else {
        // The first thief comes while the store waits behind a miss, the second while the line is
        // on its way back.
        b.m.work(static_cast<uint64_t>(i) * 100);
        SimMachine::load(b.line(1));
      }
    });
    EXPECT_EQ(fenced, 1 + kDram + kOp + kPeer) << thieves;
    EXPECT_EQ(b.m.statistics(sim::kFirstWorker).stolen, thieves);
  }
}

// 17. The work of a store buffer counts for its thread, also while another thread runs.
TEST(SimTimedCore, R17_CountersBelongToTheThreadThatAsked) {
  TimedBench b;
  b.on(0, [&] { b.store_latency(b.medium_line(0)); });
  const uint64_t before = b.m.statistics(sim::kFirstWorker).medium_writes;
  b.m.run_threads(2, [&](int i) {
    if (i == 0) {
      SimMachine::store(b.line(0), uint64_t{1});
      SimMachine::store(b.medium_line(0), uint64_t{1});
      b.m.pwb(b.medium_line(0));
      b.m.work(1000);
    } else {
      for (int k = 0; k < 300; ++k) {
        b.m.work(1);
      }
    }
  });
  EXPECT_EQ(b.m.statistics(sim::kFirstWorker).medium_writes - before, 1u);
  EXPECT_EQ(b.m.statistics(sim::kFirstWorker + 1).medium_writes, 0u);
}

// 18. A run ends when its last store has left. The next run begins after that.
TEST(SimTimedCore, R18_ARunEndsWhenTheLastStoreHasLeft) {
  TimedBench b;
  const Time start = b.m.now();
  b.on(0, [&] { SimMachine::store(b.line(0), uint64_t{1}); });
  EXPECT_EQ((b.m.now() - start) / kNs, kOp + kDram);
}

// 21. The surviving image has the lines that the caches evicted, and lacks those that they still
// held. The rules of the domain allow both kinds to survive.
TEST(SimTimedCore, R21_TheSurvivingImageIsWhatTheCachesWroteBack) {
  SimOptions o;
  o.threads = 1;
  o.schedule = Schedule::timed;
  o.machine = std::make_shared<MachineDescription>(round_machine());
  SimMachine m(o);
  constexpr size_t kLines = 4096;  // sixteen times the last level
  m.medium().grow(kLines * 64).check();
  std::byte* lines = m.medium().map(0, kLines * 64, nullptr, MapMode::shared).value();
  m.run_threads(1, [&](int) {
    for (size_t line = 0; line < kLines; ++line) {
      SimMachine::store(reinterpret_cast<uint64_t*>(lines + line * 64), line + 1);
    }
    m.fence();
  });
  const auto word = [](const SimImage& image, size_t line) {
    uint64_t value = 0;
    std::memcpy(&value, &image[line * 64], sizeof(value));
    return value;
  };
  EXPECT_EQ(word(m.surviving_image(), 0), 1u);
  EXPECT_EQ(word(m.surviving_image(), kLines - 1), 0u);
  EXPECT_EQ(word(m.earliest_image(), 0), 0u) << "nothing was fenced";
  EXPECT_EQ(word(m.latest_image(), kLines - 1), kLines);
}

}  // namespace
}  // namespace holdfast::timed_core_test
