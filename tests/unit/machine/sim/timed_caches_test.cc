// SPDX-License-Identifier: Apache-2.0
// Do the simulated caches take the time that their rules say, to the picosecond? Do they hold and
// lose the lines that they should? Numbered, one rule each.
#include <gtest/gtest.h>

#include <set>

#include "holdfast/base/random.h"
#include "tests/unit/machine/sim/timed_machine.h"

namespace holdfast::timed_caches_test {
namespace {

/// Returns the cycles per hop of a pointer chase round `lines` lines, after one round to warm up.
double chase(TimedBench& b, size_t lines, size_t hops) {
  b.on(0, [&] {
    for (size_t i = 0; i < lines; ++i) {
      SimMachine::store(b.line(i), reinterpret_cast<uint64_t>(b.line((i + 1) % lines)));
    }
    b.m.fence();
  });
  double taken = 0;
  b.on(0, [&] {
    const auto hop = [&](size_t n) {
      auto p = reinterpret_cast<uint64_t>(b.line(0));
      for (size_t i = 0; i < n; ++i) {
        p = SimMachine::load(reinterpret_cast<const uint64_t*>(p));
      }
      b.m.fence();
    };
    hop(2 * lines);
    taken = b.cycles([&] { hop(hops); });
  });
  return taken / static_cast<double>(hops);
}

// 1. A dependent load is ready after exactly the hit time of the level that its footprint fits in.
TEST(SimTimedCaches, R01_ADependentLoadTakesTheHitTimeOfItsLevel) {
  TimedBench b;
  EXPECT_EQ(chase(b, 16, 16), kL1) << "all of L1: 2 sets of 8";
  EXPECT_EQ(chase(b, 64, 64), kL2) << "all of L2";
  EXPECT_EQ(chase(b, 256, 256), kLlc) << "all of the last level, which takes what L2 evicts";
}

// 1. With one line more than a level holds, the full set always misses, because replacement is LRU.
TEST(SimTimedCaches, R01_AFootprintOneLineTooLargeMissesInTheSetItOverflows) {
  TimedBench b;
  // 17 lines: the even set has nine lines and always misses, the odd set has eight.
  EXPECT_EQ(chase(b, 17, 17), (9.0 * kL2 + 8.0 * kL1) / 17);
}

// 2. A load beyond the caches takes the last level, then path, bank and bus of the controller.
TEST(SimTimedCaches, R02_AMissTakesTheLastLevelAndTheController) {
  TimedBench b;
  double dram = 0;
  double medium = 0;
  b.on(0, [&] {
    dram = b.latency(b.line(0));
    medium = b.latency(b.medium_line(0));
  });
  EXPECT_EQ(dram, kDram);
  EXPECT_EQ(medium, kMedium);
  EXPECT_EQ(b.m.statistics().dram_reads, 1u);
  EXPECT_EQ(b.m.statistics().medium_reads, 1u);
}

// 3. The least recently used way is replaced.
TEST(SimTimedCaches, R03_TheNinthLineOfASetDisplacesTheLeastRecentlyUsed) {
  TimedBench b;
  b.on(0, [&] {
    for (size_t i = 0; i < 8; ++i) {
      b.touch(b.line(2 * i));
    }
    EXPECT_EQ(b.level(b.line(0)), Level::l1) << "eight lines fit; line 0 is the youngest now";
    b.touch(b.line(16));
    EXPECT_EQ(b.level(b.line(0)), Level::l1);
    EXPECT_EQ(b.level(b.line(2)), Level::l2) << "the oldest; that displaces line 4";
    EXPECT_EQ(b.level(b.line(6)), Level::l1);
    EXPECT_EQ(b.level(b.line(4)), Level::l2);
  });
}

// 4. The number of sets may be any number; here it is three.
TEST(SimTimedCaches, R04_SetsNeedNotBeAPowerOfTwo) {
  MachineDescription machine = round_machine();
  machine.l1.bytes = size_t{3} * 8 * 64;
  TimedBench b(machine);
  b.on(0, [&] {
    for (size_t i = 0; i < 24; ++i) {
      b.touch(b.line(i));
    }
    for (size_t i = 0; i < 24; ++i) {
      EXPECT_EQ(b.level(b.line(i)), Level::l1) << i;
    }
    b.touch(b.line(24));
    EXPECT_EQ(b.level(b.line(1)), Level::l1) << "another set";
    EXPECT_EQ(b.level(b.line(2)), Level::l1) << "another set";
    EXPECT_EQ(b.level(b.line(0)), Level::l2) << "three lines apart is one set";
  });
}

/// Uses line 0 again and again while 16 others fill its set of the last level. A load that hits in
/// L1 does not count as a use of the last level.
Level level_after_filling_the_last_level(bool inclusive, bool dirty, uint64_t& writes,
                                         bool fills_on_miss = false) {
  MachineDescription machine = round_machine();
  // L2 is large enough that its set does not overflow.
  machine.l2 = {.bytes = 16384, .ways = 32, .hit_cycles = static_cast<double>(kL2)};
  machine.llc.inclusive = inclusive;
  machine.llc.fills_on_miss = fills_on_miss;
  TimedBench b(machine);
  Level found{};
  b.on(0, [&] {
    b.touch(b.line(0));
    if (dirty) {
      b.store_latency(b.line(0));
    }
    for (size_t i = 1; i <= 16; ++i) {
      EXPECT_EQ(b.level(b.line(0)), Level::l1);
      b.touch(b.line(16 * i));
    }
    writes = b.m.statistics().dram_writes;
    found = b.level(b.line(0));
  });
  return found;
}

// 5. An inclusive last level removes a line that it evicts from the caches above.
TEST(SimTimedCaches, R05_AnInclusiveLastLevelInvalidatesTheLevelsAbove) {
  uint64_t writes = 0;
  EXPECT_EQ(level_after_filling_the_last_level(true, false, writes), Level::dram);
  EXPECT_EQ(writes, 0u);
  EXPECT_EQ(level_after_filling_the_last_level(true, true, writes), Level::dram);
  EXPECT_EQ(writes, 1u) << "the dirty line in L1 is pulled along";
}

// 6. A last level that is not inclusive does not.
TEST(SimTimedCaches, R06_OtherwiseTheLevelsAboveKeepTheirLine) {
  uint64_t writes = 0;
  EXPECT_EQ(level_after_filling_the_last_level(false, true, writes), Level::l1);
  EXPECT_EQ(writes, 0u);
}

// 7. A line that is dirty in another core's cache comes from there, in the time of the distance.
TEST(SimTimedCaches, R07_ADirtyLineIsTransferred) {
  TimedBench b;
  b.on(0, [&] {
    b.store_latency(b.line(0));
    b.store_latency(b.line(1));
  });
  b.on(1, [&] {
    EXPECT_EQ(b.latency(b.line(0)), kPeer) << "same socket";
    EXPECT_EQ(b.latency(b.line(0)), kL1) << "and is here now";
  });
  b.on(2, [&] { EXPECT_EQ(b.latency(b.line(1)), kRemote) << "other socket"; });
  b.on(0, [&] { EXPECT_EQ(b.latency(b.line(0)), kL1) << "the owner keeps a copy to read"; });
  EXPECT_EQ(b.m.statistics().load_from[static_cast<size_t>(Level::peer)], 1u);
  EXPECT_EQ(b.m.statistics().load_from[static_cast<size_t>(Level::remote_peer)], 1u);
  EXPECT_EQ(b.m.statistics().dram_writes, 0u) << "the last level took the dirty data";
}

// 8. Clean lines are shared; the nearest copy serves.
TEST(SimTimedCaches, R08_ACleanLineComesFromTheNearestCopy) {
  TimedBench b;
  b.on(0, [&] { b.touch(b.line(0)); });
  b.on(2, [&] { EXPECT_EQ(b.latency(b.line(0)), kRemote); });
  b.on(3, [&] { EXPECT_EQ(b.latency(b.line(0)), kPeer) << "core 2 is nearer than core 0"; });
  for (const int core : {0, 2, 3}) {
    b.on(core, [&] { EXPECT_EQ(b.level(b.line(0)), Level::l1) << core; });
  }
  EXPECT_EQ(b.m.statistics().dram_reads, 1u);
}

// 9. A store to a shared line asks the other caches to give it up. A store to an unshared line does
// not.
TEST(SimTimedCaches, R09_AStoreToASharedLineIsAnUpgrade) {
  TimedBench b;
  constexpr double kOperation = 1;
  b.on(0, [&] {
    b.touch(b.line(0));
    EXPECT_EQ(b.store_latency(b.line(0)), kOperation) << "alone with it";
  });
  b.on(1, [&] { b.touch(b.line(0)); });
  b.on(0, [&] { EXPECT_EQ(b.store_latency(b.line(0)), kOperation + kPeer); });
  b.on(1, [&] { EXPECT_EQ(b.level(b.line(0)), Level::peer) << "its copy was taken"; });
  b.on(0, [&] { EXPECT_EQ(b.store_latency(b.line(0)), kOperation + kPeer) << "again"; });
  b.on(2, [&] { b.touch(b.line(0)); });
  b.on(0, [&] { EXPECT_EQ(b.store_latency(b.line(0)), kOperation + kRemote) << "far copy"; });
}

// 10. Two cores may share an L2.
TEST(SimTimedCaches, R10_APairSharesItsL2) {
  MachineDescription machine = round_machine();
  machine.l2.cores = 2;
  TimedBench b(machine);
  b.on(0, [&] { b.store_latency(b.line(0)); });
  b.on(1, [&] { EXPECT_EQ(b.latency(b.line(0)), kL2) << "the sibling's dirty line"; });
  b.on(0, [&] {
    EXPECT_EQ(b.level(b.line(0)), Level::l1);
    EXPECT_EQ(b.store_latency(b.line(0)), 1 + kL2) << "the sibling has a copy";
    EXPECT_EQ(b.store_latency(b.line(0)), 1) << "not any more";
  });
  b.on(1, [&] { EXPECT_EQ(b.store_latency(b.line(0)), 1 + kL2); });
  b.on(2, [&] { EXPECT_EQ(b.latency(b.line(0)), kRemote) << "the pair as a whole owned it"; });
}

// 11. Two cores that increment one word pass its line to and fro, once for each increment.
TEST(SimTimedCaches, R11_PingPongTakesATransferEachTime) {
  TimedBench b;
  constexpr uint64_t kTimes = 50;
  b.m.run_threads(2, [&](int) {
    for (uint64_t i = 0; i < kTimes; ++i) {
      b.atomic(0).fetch_add(1);
    }
  });
  const SimCounters all = b.m.statistics();
  EXPECT_EQ(all.own_from[static_cast<size_t>(Level::dram)], 1u);
  EXPECT_EQ(all.own_from[static_cast<size_t>(Level::peer)], 2 * kTimes - 1);
  const Time end = b.m.now() / kNs;
  EXPECT_GE(end, kDram + (2 * kTimes - 1) * kPeer) << "one after the other";
  EXPECT_LE(end, kDram + (2 * kTimes - 1) * kPeer + kAtomic + 1);
}

// 12. Cores disturb each other by lines: neighbouring words do in one line of 128 bytes, but not in
// two lines of 64.
TEST(SimTimedCaches, R12_FalseSharingHasTheGrainOfTheLine) {
  for (const size_t line_bytes : {size_t{64}, size_t{128}}) {
    MachineDescription machine = round_machine();
    machine.line_bytes = line_bytes;
    TimedBench b(machine);
    b.m.run_threads(2, [&](int i) {
      auto* word =
          reinterpret_cast<SimMachine::Atomic<uint64_t>*>(b.words + static_cast<size_t>(i) * 8);
      for (int k = 0; k < 10; ++k) {
        word->fetch_add(1);
      }
    });
    EXPECT_EQ(b.m.statistics().own_from[static_cast<size_t>(Level::peer)],
              line_bytes == 64 ? 0u : 19u);
  }
}

// 13. A second access to a line on its way is ready when the line arrives, not after a hit's time.
TEST(SimTimedCaches, R13_ALineOnItsWayServesNoAccessEarlier) {
  TimedBench b;
  // A list whose nodes are one line each: a key and the pointer to the next. It is built outside
  // run_threads, so no cache learns of it.
  constexpr size_t kNodes = 8;
  for (size_t i = 0; i < kNodes; ++i) {
    SimMachine::store(b.line(300 + i) + 1, reinterpret_cast<uint64_t>(b.line(301 + i)));
  }
  b.on(0, [&] {
    EXPECT_EQ(b.cycles([&] {
      auto node = b.line(300);
      for (size_t i = 0; i < kNodes; ++i) {
        SimMachine::load(node);
        node = reinterpret_cast<uint64_t*>(SimMachine::load(node + 1));
      }
      b.m.fence();
    }),
              kNodes * kDram);
  });
}

// 13. A store to a line on its way does not leave earlier, either.
TEST(SimTimedCaches, R13_AStoreToALineOnItsWayWaits) {
  TimedBench b;
  b.on(0, [&] {
    SimMachine::load(b.line(0));
    EXPECT_EQ(b.cycles([&] {
      for (int i = 0; i < 57; ++i) {  // one more than the store buffer holds
        SimMachine::store(b.line(0), uint64_t{1});
      }
    }),
              kDram - 1 + 1)
        << "room for the last comes with the line; an operation";
  });
}

// ---- write-backs

struct WroteBack {
  Level then{};               ///< where the next load found the line
  uint64_t writes = 0;        ///< writes that reached the medium
  uint64_t writes_again = 0;  ///< the same after a second write-back, with no store in between
  double instruction = 0;     ///< cycles of the pwb itself
  double fenced = 0;          ///< cycles of the fence behind it
};

WroteBack write_back(WriteBackKind kind) {
  MachineDescription machine = round_machine();
  machine.persistence.write_back = kind;
  machine.persistence.write_back_ns = is_emulated(kind) ? 310 : 0;
  TimedBench b(machine);
  WroteBack result;
  b.on(0, [&] {
    b.store_latency(b.medium_line(0));
    result.instruction = b.cycles([&] { b.m.pwb(b.medium_line(0)); });
    result.fenced = b.cycles([&] { b.m.psync(); });
    result.writes = b.m.statistics().medium_writes;
    b.m.pwb(b.medium_line(0));
    b.m.psync();
    result.writes_again = b.m.statistics().medium_writes;
    result.then = b.level(b.medium_line(0));
  });
  return result;
}

// 14. CLWB: the line stays and is clean. The fence waits until the write queue has accepted it.
TEST(SimTimedCaches, R14_KeepLeavesACleanLine) {
  const WroteBack r = write_back(WriteBackKind::keep);
  EXPECT_EQ(r.then, Level::l1);
  EXPECT_EQ(r.writes, 1u);
  EXPECT_EQ(r.writes_again, 1u) << "a clean line is not written";
  EXPECT_EQ(r.instruction, 1) << "an operation: the line goes its way alone";
  EXPECT_EQ(r.fenced, kAccept);
}

// 15. CLFLUSHOPT: like CLWB, but the line leaves the caches and the next access misses.
TEST(SimTimedCaches, R15_EvictTakesTheLineFromAllCaches) {
  const WroteBack r = write_back(WriteBackKind::evict);
  EXPECT_EQ(r.then, Level::medium);
  EXPECT_EQ(r.writes, 1u);
  EXPECT_EQ(r.instruction, 1);
  EXPECT_EQ(r.fenced, kAccept);
}

// 16. CLFLUSH: the instruction waits, and the fence has nothing left to wait for.
TEST(SimTimedCaches, R16_SerialWaitsInTheInstruction) {
  const WroteBack r = write_back(WriteBackKind::serial);
  EXPECT_EQ(r.then, Level::medium);
  EXPECT_EQ(r.instruction, 1 + kAccept);
  EXPECT_EQ(r.fenced, 0);
}

// 17. Emulated: the thread spins, and nothing moves.
TEST(SimTimedCaches, R17_EmulatedSpins) {
  const WroteBack r = write_back(WriteBackKind::emulated);
  EXPECT_EQ(r.then, Level::l1);
  EXPECT_EQ(r.writes, 0u);
  EXPECT_EQ(r.instruction, 1 + 310);
  EXPECT_EQ(r.fenced, 0);
}

// 17. Delayed: the same time passes in the background, and the fence waits for the rest of it.
TEST(SimTimedCaches, R17_DelayedIsWaitedForByTheFence) {
  const WroteBack r = write_back(WriteBackKind::delayed);
  EXPECT_EQ(r.then, Level::l1);
  EXPECT_EQ(r.writes, 0u);
  EXPECT_EQ(r.instruction, 1);
  EXPECT_EQ(r.fenced, 310);
}

TEST(SimTimedCaches, R17_DelayedLinesFollowEachOtherAndOverlapWork) {
  MachineDescription machine = round_machine();
  machine.persistence.write_back = WriteBackKind::delayed;
  machine.persistence.write_back_ns = 310;
  TimedBench b(machine);
  b.on(0, [&] {
    for (size_t line = 0; line < 3; ++line) {
      b.m.pwb(b.medium_line(line));
    }
    b.m.work(500);
    EXPECT_EQ(b.cycles([&] { b.m.psync(); }), 3 * 310 - 2 - 500) << "two operations, then work";
    b.m.pwb(b.medium_line(3));
    b.m.work(1000);
    EXPECT_EQ(b.cycles([&] { b.m.psync(); }), 0);
  });
}

// 18. A write-back by one core finds the dirty line anywhere, also in another core's L1.
TEST(SimTimedCaches, R18_AWriteBackFindsTheDirtyCopyAnywhere) {
  TimedBench b;
  b.on(0, [&] { b.store_latency(b.medium_line(0)); });
  b.on(2, [&] {
    b.m.pwb(b.medium_line(0));
    b.m.psync();
  });
  EXPECT_EQ(b.m.statistics().medium_writes, 1u);
  b.on(0, [&] {
    EXPECT_EQ(b.level(b.medium_line(0)), Level::l1) << "CLWB leaves it";
    b.m.pwb(b.medium_line(0));
    b.m.psync();
  });
  EXPECT_EQ(b.m.statistics().medium_writes, 1u) << "clean everywhere";
}

// 19. A dirty line that leaves the last level is written to memory, once for each time it became
// dirty.
TEST(SimTimedCaches, R19_AnEvictedDirtyLineReachesMemory) {
  TimedBench b;
  constexpr size_t kMany = 1024;  // four times the last level
  const auto sweep = [&](bool store, size_t from) {
    b.on(0, [&] {
      for (size_t i = 0; i < kMany; ++i) {
        store ? void(b.store_latency(b.line(from + i))) : b.touch(b.line(from + i));
      }
    });
  };
  sweep(true, 0);
  EXPECT_EQ(b.m.statistics().dram_writes, kMany - 64 - 256) << "what L2 and the last level hold";
  sweep(false, kMany);
  EXPECT_EQ(b.m.statistics().dram_writes, kMany);
  sweep(false, 0);
  EXPECT_EQ(b.m.statistics().dram_writes, kMany) << "clean lines are dropped";
}

// 20. Without a last level, a dirty line that L2 evicts goes to memory, and transfers between cores
// pass the dirty data on.
TEST(SimTimedCaches, R20_AMachineWithoutALastLevel) {
  MachineDescription machine = round_machine();
  machine.llc = {};
  TimedBench b(machine);
  b.on(0, [&] {
    for (size_t i = 0; i < 128; ++i) {
      SimMachine::store(b.line(i), uint64_t{1});
    }
  });
  EXPECT_EQ(b.m.statistics().dram_writes, 64u);
  b.on(1, [&] { EXPECT_EQ(b.level(b.line(127)), Level::peer); });
  EXPECT_EQ(b.m.statistics().dram_writes, 65u) << "shared lines are clean, so memory has it";
}

// 21. A dirty line in another socket's last level moves together with the right to store.
TEST(SimTimedCaches, R21_ALineMovesFromAnotherLastLevel) {
  TimedBench b;
  const auto sweep = [&](int core) {
    b.on(core, [&] {
      for (size_t i = 0; i < 64; ++i) {
        b.touch(b.line(64 + i));  // then the core's L2 holds only these
      }
    });
  };
  b.on(0, [&] {
    b.store_latency(b.line(0));
    b.touch(b.line(1));
  });
  sweep(0);
  b.on(2, [&] {
    EXPECT_EQ(b.latency(b.line(0)), kRemote) << "dirty";
    EXPECT_EQ(b.store_latency(b.line(0)), 1) << "no other core has it";
    EXPECT_EQ(b.latency(b.line(1)), kRemote) << "clean";
    EXPECT_EQ(b.store_latency(b.line(1)), 1 + kRemote) << "the other last level kept it";
  });
  sweep(2);
  for (const int core : {0, 2}) {
    b.on(core, [&] {
      for (size_t i = 0; i < 1024; ++i) {
        b.touch(b.line(1024 + i));
      }
    });
  }
  EXPECT_EQ(b.m.statistics().dram_writes, 2u) << "each line once";
}

// 21. A line that two sockets wrote in turn is written to memory once, after all caches have
// evicted it.
TEST(SimTimedCaches, R21_AnOldCopyInAnotherLastLevelIsNotWritten) {
  TimedBench b;
  b.on(0, [&] { b.store_latency(b.line(0)); });
  b.on(1, [&] { b.touch(b.line(0)); });  // now the last level of socket 0 has the dirty line
  b.on(2, [&] {
    b.touch(b.line(0));
    b.store_latency(b.line(0));
  });
  for (const int core : {0, 2}) {
    b.on(core, [&] {
      for (size_t i = 0; i < 1024; ++i) {
        b.touch(b.line(1024 + i));
      }
    });
  }
  EXPECT_EQ(b.m.statistics().dram_writes, 1u);
}

/// A memory that knows which lines are newer in the caches.
class Ledger final : public sim::CacheClient {
 public:
  Time read_memory(uint32_t line, Time now, Level&, uint32_t&) override {
    EXPECT_EQ(dirty.count(line), 0u) << "memory does not have line " << line << " any more";
    return now + 100;
  }
  Time write_memory(uint32_t line, uint32_t, const std::byte*, Time now) override {
    EXPECT_EQ(dirty.erase(line), 1u) << "nothing new to write of line " << line;
    return now + 10;
  }
  void left_l1(int, uint32_t, uint32_t, uint32_t) override {}
  void left_llc(uint32_t, uint64_t) override {}
  bool tracked(uint32_t) override { return false; }

  std::set<uint32_t> dirty;  ///< lines with stores that were not written yet
};

/// Random loads, stores and write-backs on small caches, which evict often.
void stress(MachineDescription machine, uint64_t seed) {
  machine.l1.bytes = size_t{2} * 2 * 64;
  machine.l1.ways = 2;
  machine.l2.bytes = machine.l2.bytes != 0 ? size_t{2} * 4 * 64 : 0;
  machine.l2.ways = 4;
  machine.llc.bytes = machine.llc.bytes != 0 ? size_t{3} * 8 * 64 : 0;
  machine.llc.ways = 8;
  constexpr uint32_t kUsed = 48;
  Ledger memory;
  sim::CoherentCaches caches(machine, kUsed, memory);
  Random random(seed);
  Time now = 0;
  for (int step = 0; step < 20'000 && !testing::Test::HasFailure(); ++step) {
    now += 1000;
    const auto line = static_cast<uint32_t>(random.below(kUsed));
    const auto core = static_cast<int>(random.below(static_cast<uint64_t>(caches.cores())));
    const uint64_t what = random.below(8);
    sim::CacheArray::Way* way = caches.in_l1(core, line);
    if (what == 0) {
      caches.write_back(line, random.below(2) == 0, now);
      EXPECT_EQ(memory.dirty.count(line), 0u);
    } else if (what < 4) {
      if (way == nullptr || (way->meta & sim::LineBits::kOwned) == 0) {
        caches.own(core, line, now);
        way = caches.in_l1(core, line);
      }
      ASSERT_NE(way, nullptr);
      way->meta |= sim::LineBits::kDirty;
      memory.dirty.insert(line);
    } else if (way == nullptr) {
      caches.load(core, line, now);
    }
    EXPECT_EQ(caches.dirty(line), memory.dirty.count(line) != 0) << "line " << line;
    int holders = 0;
    int owners = 0;
    for (int c = 0; c < caches.cores(); ++c) {
      const sim::CacheArray::Way* held = caches.in_l1(c, line);
      holders += held != nullptr ? 1 : 0;
      owners += held != nullptr && (held->meta & sim::LineBits::kOwned) != 0 ? 1 : 0;
    }
    EXPECT_TRUE(owners == 0 || holders == 1) << "an owner is alone";
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed << ", step " << step << ", core " << core << ", operation "
                    << what;
    }
  }
}

// 22. A line has at most one owner, and then no other holder. Dirty data is written once, is never
// lost, and is never invented.
TEST(SimTimedCaches, R22_DirtyDataIsNeitherLostNorInvented) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    for (const int kind : {0, 1, 2}) {
      MachineDescription machine = round_machine();
      machine.llc.inclusive = kind == 1;
      machine.llc.fills_on_miss = kind == 2;
      stress(machine, seed);
      machine.l2.cores = 2;
      stress(machine, seed);
      machine.l2 = {};
      stress(machine, seed);
    }
    MachineDescription machine = round_machine();
    machine.llc = {};
    stress(machine, seed);
    machine.l2.cores = 2;
    stress(machine, seed);
  }
}

// 23. A last level that fills on misses has a line from the miss on. A clean line that leaves an L2
// goes no further.
TEST(SimTimedCaches, R23_MissesFillALastLevelThatDoes) {
  const auto level_after = [](bool fills_on_miss, bool others_fill_its_set) {
    MachineDescription machine = round_machine();
    machine.l2 = {.bytes = 16384, .ways = 32, .hit_cycles = static_cast<double>(kL2)};
    machine.llc.fills_on_miss = fills_on_miss;
    TimedBench b(machine);
    Level found{};
    b.on(0, [&] {
      b.touch(b.line(0));
      for (size_t i = 1; others_fill_its_set && i <= 16; ++i) {
        b.touch(b.line(16 * i));
      }
      // In the same set of L2, but another one of the last level; line 0 is the first to leave.
      for (size_t i = 0; i < (others_fill_its_set ? 16 : 32); ++i) {
        b.touch(b.line(8 * (2 * i + 1)));
      }
      found = b.level(b.line(0));
    });
    return found;
  };
  EXPECT_EQ(level_after(true, false), Level::llc);
  EXPECT_EQ(level_after(true, true), Level::dram) << "the last level has evicted it before the L2";
  EXPECT_EQ(level_after(false, true), Level::llc) << "the L2's eviction fills this kind";
}

// 24. Where the last level evicts a line that a level above has dirty, it writes nothing: it would
// write an old version.
TEST(SimTimedCaches, R24_ALastLevelThatFillsOnMissesWritesNoOldVersion) {
  uint64_t writes = 0;
  EXPECT_EQ(level_after_filling_the_last_level(false, false, writes, true), Level::l1);
  EXPECT_EQ(writes, 0u);
  EXPECT_EQ(level_after_filling_the_last_level(false, true, writes, true), Level::l1);
  EXPECT_EQ(writes, 0u);
}

// 25. Where volatile and persistent data lie in one memory, a request for the one waits for the
// bank that the other one uses.
TEST(SimTimedCaches, R25_OneMemoryServesBothKindsOfData) {
  const auto both = [](bool one_memory) {
    MachineDescription machine = round_machine();
    machine.dram.banks = 1;
    machine.medium = machine.dram;
    machine.one_memory = one_memory;
    TimedBench b(machine);
    double took = 0;
    b.on(0, [&] {
      took = b.cycles([&] {
        SimMachine::load(b.line(1));
        SimMachine::load(b.medium_line(1));
        b.m.fence();
      });
    });
    return took;
  };
  EXPECT_EQ(both(false), kDram + 1) << "the second load begins a cycle later";
  EXPECT_EQ(both(true), kDram + 100) << "and waits until the bank has read the first line";
}

}  // namespace
}  // namespace holdfast::timed_caches_test
