// SPDX-License-Identifier: Apache-2.0
// Is a timed run the same, bit for bit, every time and in every build type?
//
// TO UPDATE after an intended change of the timing model: run
//     unit_test --gtest_filter='SimTimedGolden.*'
// and copy the text behind "Which is" over kTiny and kPower9. Name the changed rule in the commit
// message. If the numbers change without such a reason, that is a bug.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/unit/machine/sim/timed_machine.h"

namespace holdfast::timed_golden_test {
namespace {

constexpr const char* kTiny =
    "now 151061000 steps 8798 loads 4052 stores 1535 atomics 488 instructions 16154 from "
    "624+558 1+3 39+272 137+301 0+0 2921+172 817+777 stolen 411 medium 1594/1212 dram "
    "3093/143 stalls 697642000 0 384135000 52885000 htm 480/391 0 89 0 0 0 0";
constexpr const char* kPower9 =
    "now 48838472 steps 8713 loads 4007 stores 1536 atomics 488 instructions 29133 from "
    "1910+26 764+173 0+0 1492+1198 0+0 305+6 24+480 stolen 47 medium 504/0 dram 311/0 stalls "
    "0 0 177131389 3587904 htm 480/406 0 74 0 0 0 0";

constexpr int kThreads = 8;
constexpr int kRounds = 60;

MachineDescription described(const char* name) {
  return load_machine(HOLDFAST_SOURCE_DIR "/experiments/machines/" + std::string(name) + ".toml")
      .value();
}

/// One round of all operations: loads near and far, and a transaction on shared persistent lines.
/// Then the thread writes a log record back, updates a shared counter, and now and then hands a
/// line over.
void round(TimedBench& b, Random& random, int worker, int k) {
  uint64_t sum = 0;
  for (int i = 0; i < 6; ++i) {
    sum += SimMachine::load(b.line(64 + random.below(256)));
  }
  b.m.work(20 + (sum & 1));
  SimMachine::HtmThread& htm = b.m.htm(b.m.self());
  htm.begin(k % 3 == 0 ? Tracking::stores : Tracking::all);
  try {
    for (int i = 0; i < 2; ++i) {
      uint64_t* word = b.medium_line(random.below(24));
      htm.store(word, htm.load(word) + 1);
    }
    if (k % 4 == 0) {
      htm.suspend();
      SimMachine::load(b.line(random.below(64)));
      htm.resume();
    }
    htm.commit();
  } catch (const HtmAbort&) {
    htm.caught();
    b.m.pause();
  }
  uint64_t* log = b.medium_line(1000 + static_cast<size_t>(worker) * 100 + static_cast<size_t>(k));
  SimMachine::store(log, uint64_t{1});
  b.m.pwb(log);
  b.m.psync();
  if (b.atomic(0).fetch_add(1) % 5 == 0) {
    SimMachine::store(b.line(8 + static_cast<size_t>(worker)), uint64_t{1});
  }
}

std::string run(const char* machine, uint64_t seed) {
  TimedBench b(described(machine));
  b.m.run_threads(kThreads, [&](int worker) {
    Random random(seed * 100 + static_cast<uint64_t>(worker));
    for (int k = 0; k < kRounds; ++k) {
      round(b, random, worker, k);
    }
    b.atomic(1).fetch_add(1);
    for (;;) {
      const uint64_t there = b.atomic(1).load();
      if (there == kThreads) {
        break;
      }
      b.m.wait_while(b.atomic(1), there);
    }
  });
  const SimCounters c = b.m.statistics();
  std::ostringstream out;
  out << "now " << b.m.now() << " steps " << b.m.steps() << " loads " << c.loads << " stores "
      << c.stores << " atomics " << c.atomics << " instructions " << c.instructions << " from";
  for (size_t i = 0; i < sim::kLevels; ++i) {
    out << ' ' << c.load_from[i] << '+' << c.own_from[i];
  }
  out << " stolen " << c.stolen << " medium " << c.medium_reads << '/' << c.medium_writes
      << " dram " << c.dram_reads << '/' << c.dram_writes << " stalls " << c.stall_load << ' '
      << c.stall_buffer << ' ' << c.stall_fence << ' ' << c.blocked << " htm " << c.htm_begins
      << '/' << c.htm_commits;
  for (const uint64_t aborts : c.htm_aborts) {
    out << ' ' << aborts;
  }
  return out.str();
}

TEST(SimTimedGolden, TheSameRunTwice) {
  for (const char* machine : {"tiny", "power9"}) {
    const std::string first = run(machine, 7);
    EXPECT_EQ(run(machine, 7), first) << machine;
    EXPECT_NE(run(machine, 8), first) << machine;
  }
}

TEST(SimTimedGolden, Tiny) {
  EXPECT_EQ(run("tiny", 1), kTiny);
}

TEST(SimTimedGolden, Power9) {
  EXPECT_EQ(run("power9", 1), kPower9);
}

}  // namespace
}  // namespace holdfast::timed_golden_test
