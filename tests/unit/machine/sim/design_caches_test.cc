// SPDX-License-Identifier: Apache-2.0
// Do the caches serve a hardware design as their rules say: times of moves to the picosecond,
// flags, quotas, and versions with their own bytes? Numbered, one rule each. R21 and R22 are about
// any machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/machine/sim/caches/memory_controller.h"
#include "holdfast/runner/spec/machines.h"
#include "tests/unit/machine/sim/coherent_caches_check.h"
#include "tests/unit/machine/sim/timed_machine.h"

namespace holdfast::design_caches_test {
namespace {

using sim::CacheArray;
using sim::CacheFeatures;
using sim::CoherentCaches;
using sim::LineBits;

constexpr uint32_t kFlag = 1u << LineBits::kFlagShift;
constexpr uint32_t kOther = 2u << LineBits::kFlagShift;
constexpr Time kMemory = 100 * kNs;
constexpr Time kMiss = kLlc * kNs + kMemory;
constexpr uint32_t kLines = 4096;

/// A caller of the caches that records what they ask, and answers as the test says.
class Script final : public sim::CacheClient {
 public:
  struct Move {
    Level from;
    uint32_t line;
    uint32_t bits;
    Time at;
  };
  struct Write {
    uint32_t line;
    uint32_t flags;
    uint64_t value;  ///< its first word; that of the newest bytes is newest[line]
    Time at;
  };

  Time read_memory(uint32_t, Time now, Level& level, uint32_t& bits) override {
    level = Level::medium;
    bits |= fill;
    return now + kMemory;
  }
  Time write_memory(uint32_t line, uint32_t meta, const std::byte* older, Time now) override {
    uint64_t value = newest[line];
    if (older != nullptr) {
      std::memcpy(&value, older, sizeof(value));
    }
    writes.push_back({line, meta & LineBits::kFlags, value, now});
    return now + write_time;
  }
  Left leaving(Level from, uint32_t line, uint32_t meta, const std::byte*, Time now) override {
    moves.push_back({from, line, meta & LineBits::kContent, now});
    return {meta, now + slow[from]};
  }
  size_t victim(Level level, const CacheArray::Way* set, size_t ways, uint32_t line,
                uint32_t coming, bool present) override {
    return choose ? choose(level, set, ways, line, coming, present) : present ? ways : ways - 1;
  }
  bool keeps(Level, uint32_t, uint32_t, uint32_t) override { return keep; }
  Time hit(Level level, int, uint32_t, uint32_t, bool, Time done) override {
    hits.push_back(level);
    return done + 3;
  }
  void left_l1(int, uint32_t, uint32_t, uint32_t) override {}
  void left_llc(uint32_t, uint64_t) override {}
  bool tracked(uint32_t) override { return false; }

  uint32_t fill = 0;  ///< bits that lines bring from memory
  bool keep = false;
  std::map<Level, Time> slow;  ///< by level: the time of a move from there
  Time write_time = 0;         ///< until memory accepts a write
  std::function<size_t(Level, const CacheArray::Way*, size_t, uint32_t, uint32_t, bool)> choose;
  std::map<uint32_t, uint64_t> newest;
  std::vector<Move> moves;
  std::vector<Write> writes;
  std::vector<Level> hits;
};

MachineDescription machine_with(bool inclusive) {
  MachineDescription machine = round_machine();
  machine.llc.inclusive = inclusive;
  return machine;
}

/// An inclusive last level, and an L2 so large that its sets do not overflow first.
MachineDescription large_l2() {
  MachineDescription machine = machine_with(true);
  machine.l2 = {.bytes = 16384, .ways = 32, .hit_cycles = static_cast<double>(kL2)};
  return machine;
}

class Bench {
 public:
  explicit Bench(const CacheFeatures& features = {},
                 const MachineDescription& machine = machine_with(true))
      : caches(machine, kLines, script), features_(features) {
    caches.attach_design(features);
  }

  Time load(uint32_t line, int core = 0) {
    now += 1'000 * kNs;
    return caches.load(core, line, now).done - now;
  }
  /// Stores a new version of the line, with these flags in L1.
  void store(uint32_t line, uint32_t flags = 0, int core = 0) {
    now += 1'000 * kNs;
    CacheArray::Way* way = caches.in_l1(core, line);
    if (way == nullptr || (way->meta & LineBits::kOwned) == 0) {
      caches.own(core, line, now);
      way = caches.in_l1(core, line);
    }
    if (features_.versions && (way->meta & LineBits::kDirty) == 0) {
      std::vector<uint64_t> bytes(8, script.newest[line]);
      caches.supersede(core, line, reinterpret_cast<const std::byte*>(bytes.data()));
    }
    way->meta = (way->meta & ~LineBits::kFlags) | flags | LineBits::kDirty;
    script.newest[line] = ++last_;
  }
  Time evict(Level level, uint32_t line) {
    now += 1'000 * kNs;
    return caches.evict(level, 0, line, now) - now;
  }
  /// The copies that are dirty or have flags: level and bits, the last level first.
  std::vector<std::pair<Level, uint32_t>> marked(uint32_t line) {
    std::vector<std::pair<Level, uint32_t>> found;
    caches.for_each_marked([&](Level level, uint32_t l, uint32_t bits, const std::byte*) {
      if (l == line) {
        found.emplace_back(level, bits);
      }
    });
    return found;
  }

  Script script;
  CoherentCaches caches;
  Time now = 0;

 private:
  CacheFeatures features_;
  uint64_t last_ = 0;
};

using Marked = std::vector<std::pair<Level, uint32_t>>;
constexpr uint32_t kDirty = LineBits::kDirty;
constexpr uint32_t kOlder = LineBits::kOlder;

/// Returns the time of a load that displaces a dirty line with flags from this level, whose move
/// takes `slow` and whose write, if there is one, `write`.
Time displacing(Level level, Time slow, Time write = 0) {
  Bench b({}, level == Level::llc ? large_l2() : machine_with(false));
  const uint32_t stride = level == Level::l1 ? 2 : level == Level::l2 ? 8 : 16;
  const uint32_t ways = level == Level::llc ? 16 : 8;
  for (uint32_t i = 0; i < ways; ++i) {
    b.store(i * stride, kFlag);
  }
  b.script.moves.clear();
  b.script.slow[level] = slow;
  b.script.write_time = write;
  const Time took = b.load(ways * stride);
  EXPECT_FALSE(b.script.moves.empty());
  EXPECT_EQ(b.script.moves.front().from, level);
  EXPECT_EQ(b.script.moves.front().line, 0u);
  EXPECT_EQ(b.script.moves.front().at, b.now);
  return took;
}

// 1. A load waits until the line that it displaces has left. While the move takes no longer than
// the load itself, that costs nothing.
TEST(SimDesignCaches, R01_ALoadWaitsForASlowMoveFromL1) {
  EXPECT_EQ(displacing(Level::l1, 0), kMiss);
  EXPECT_EQ(displacing(Level::l1, kMiss), kMiss);
  EXPECT_EQ(displacing(Level::l1, kMiss + 1), kMiss + 1);
}
TEST(SimDesignCaches, R01_ALoadWaitsForASlowMoveFromL2) {
  EXPECT_EQ(displacing(Level::l2, 0), kMiss);
  EXPECT_EQ(displacing(Level::l2, kMiss), kMiss);
  EXPECT_EQ(displacing(Level::l2, kMiss + 1), kMiss + 1);
}
TEST(SimDesignCaches, R01_ALoadWaitsForASlowMoveFromTheLastLevel) {
  EXPECT_EQ(displacing(Level::llc, 0), kMiss);
  EXPECT_EQ(displacing(Level::llc, kMiss), kMiss);
  EXPECT_EQ(displacing(Level::llc, kMiss + 1), kMiss + 1);
  EXPECT_EQ(displacing(Level::llc, kMiss - 7, 7), kMiss) << "the write begins after the move";
  EXPECT_EQ(displacing(Level::llc, kMiss - 7, 8), kMiss + 1);
}

// 2. Content that leaves L1 goes on from L2 at the time at which it has arrived there.
TEST(SimDesignCaches, R02_ContentArrivesBelowAtItsTime) {
  Bench b({.versions = true});
  b.store(0, kOther);
  b.evict(Level::l1, 0);
  b.store(0, kFlag);
  b.script.keep = true;
  b.script.moves.clear();
  b.script.slow[Level::l1] = 5;
  b.script.slow[Level::l2] = 8;
  EXPECT_EQ(b.evict(Level::l1, 0), 13u) << "the older version has to leave L2 first";
  ASSERT_EQ(b.script.moves.size(), 2u);
  EXPECT_EQ(b.script.moves[0].from, Level::l1);
  EXPECT_EQ(b.script.moves[0].bits, kDirty | kFlag);
  EXPECT_EQ(b.script.moves[0].at, b.now);
  EXPECT_EQ(b.script.moves[1].from, Level::l2);
  EXPECT_EQ(b.script.moves[1].bits, kDirty | kOlder | kOther);
  EXPECT_EQ(b.script.moves[1].at, b.now + 5);
}

// 3. Flags go up with fills and down with dirty data.
TEST(SimDesignCaches, R03_FlagsGoWithTheLine) {
  Bench b({}, machine_with(false));
  b.script.fill = kFlag;
  b.load(0);
  EXPECT_EQ(b.marked(0), (Marked{{Level::l2, kFlag}, {Level::l1, kFlag}})) << "up, from memory";
  b.store(0, kOther);
  b.evict(Level::l1, 0);
  EXPECT_EQ(b.marked(0), (Marked{{Level::l2, kDirty | kOther}})) << "down, and not the old ones";
  b.evict(Level::l2, 0);
  EXPECT_EQ(b.marked(0), (Marked{{Level::llc, kDirty | kOther}}));
  b.load(0);
  EXPECT_EQ(b.caches.in_l1(0, 0)->meta & LineBits::kFlags, kOther) << "up again";
  EXPECT_EQ(b.caches.flags_of(0), kOther);
  b.load(0, 1);
  EXPECT_EQ(b.caches.in_l1(1, 0)->meta & LineBits::kFlags, kOther) << "to another core";
}

// 4. With flags_move_up, dirty data and flags go to the L1 that takes the line. The copies below
// stay, clean and without flags.
TEST(SimDesignCaches, R04_DirtyDataAndFlagsMoveUp) {
  for (const Level from : {Level::l2, Level::llc}) {
    for (const bool inclusive : {false, true}) {
      for (const bool store : {false, true}) {
        Bench b({.flags_move_up = true}, machine_with(inclusive));
        b.store(0, kFlag);
        b.evict(Level::l1, 0);
        if (from == Level::llc) {
          b.evict(Level::l2, 0);
        }
        EXPECT_EQ(b.marked(0), (Marked{{from, kDirty | kFlag}}));
        store ? void(b.caches.own(0, 0, b.now)) : void(b.load(0));
        EXPECT_EQ(b.marked(0), (Marked{{Level::l1, kDirty | kFlag}}));
        b.script.moves.clear();
        EXPECT_EQ(b.load(0, 2), kRemote * kNs) << "and from there to another core";
        EXPECT_TRUE(b.caches.dirty(0));
      }
    }
  }
}
TEST(SimDesignCaches, R04_FlagsOfACleanLineMoveUpToo) {
  Bench b({.flags_move_up = true}, machine_with(true));
  b.load(0);
  b.evict(Level::l2, 0);
  b.caches.set_flags(0, kFlag);
  EXPECT_EQ(b.marked(0), (Marked{{Level::llc, kFlag}}));
  b.load(0);
  EXPECT_EQ(b.marked(0), (Marked{{Level::l1, kFlag}}));
}

// 5. Where a line that is present gets flags, the way that the design chooses leaves.
TEST(SimDesignCaches, R05_AQuotaOfFlaggedWays) {
  Bench b({.victims = true}, machine_with(false));
  b.store(0);
  b.store(8, kFlag);
  b.evict(Level::l1, 8);
  b.store(16);
  CacheArray::Way* way = b.caches.in_l1(0, 0);
  way->meta |= kOther;
  int asked = 0;
  b.script.choose = [&](Level level, const CacheArray::Way* set, size_t ways, uint32_t line,
                        uint32_t coming, bool present) {
    if (!present) {
      return ways - 1;
    }
    ++asked;
    EXPECT_EQ(level, Level::l2);
    EXPECT_EQ(line, 0u);
    EXPECT_EQ(coming & LineBits::kContent, kDirty | kOther) << "the bits of the coming copy";
    for (size_t i = 0; i < ways; ++i) {
      if (set[i].line() != line && (set[i].meta & LineBits::kFlags) != 0) {
        return i;  // one flagged way is enough
      }
    }
    return ways;
  };
  b.script.slow[Level::l2] = 9;
  EXPECT_EQ(b.evict(Level::l1, 0), 9u) << "line 8 leaves first";
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(b.marked(0), (Marked{{Level::l2, kDirty | kOther}}));
  EXPECT_EQ(b.marked(8), (Marked{{Level::llc, kDirty | kFlag}}));
  EXPECT_EQ(b.marked(16), (Marked{{Level::l1, kDirty}})) << "the design did not choose it";
  b.store(0, kOther);
  b.evict(Level::l1, 0);
  EXPECT_EQ(asked, 1) << "it had flags already";
}

// 6. A line that the last level refuses goes on to memory and never enters it.
TEST(SimDesignCaches, R06_ARefusedLineGoesToMemory) {
  for (const bool dirty : {false, true}) {
    Bench b({.victims = true}, machine_with(false));
    for (uint32_t i = 1; i <= 16; ++i) {  // fills the set of the last level
      b.load(16 * i);
      b.evict(Level::l2, 16 * i);
    }
    b.store(0, kFlag);
    if (!dirty) {
      b.caches.write_back(0, false, b.now);
      b.caches.set_flags(0, kFlag);
    }
    b.script.writes.clear();
    b.script.moves.clear();
    b.script.slow[Level::llc] = 20;
    b.script.write_time = 30;
    b.script.choose = [](Level level, auto*, size_t ways, uint32_t, uint32_t, bool) {
      return level == Level::llc ? ways : ways - 1;
    };
    EXPECT_EQ(b.evict(Level::l2, 0), dirty ? 50u : 20u);
    ASSERT_EQ(b.script.moves.size(), 2u);
    EXPECT_EQ(b.script.moves[1].from, Level::llc) << "as if it had passed through";
    EXPECT_EQ(b.script.writes.size(), dirty ? 1u : 0u);
    EXPECT_EQ(b.caches.flags_of(0), 0u) << "no cache has it";
    EXPECT_EQ(b.load(0), kMiss);
    EXPECT_EQ(b.load(16), kLlc * kNs) << "the others stayed";
  }
}
TEST(SimDesignCaches, R06_ARefusedFillLeavesNoCache) {
  Bench b({.victims = true}, machine_with(true));
  for (uint32_t i = 1; i <= 16; ++i) {
    b.load(16 * i);
  }
  b.script.moves.clear();
  b.script.fill = kFlag;
  b.script.choose = [](Level level, auto*, size_t ways, uint32_t, uint32_t, bool) {
    return level == Level::llc ? ways : ways - 1;
  };
  b.load(0);
  EXPECT_TRUE(b.script.moves.empty());
  EXPECT_EQ(sim::CoherentCachesCheck::contradiction(b.caches, kLines), "");
}

// 7. A fill may arrive dirty, and with flags. It is written when it leaves.
TEST(SimDesignCaches, R07_AFillArrivesDirtyWithFlags) {
  for (const bool inclusive : {false, true}) {
    for (const bool store : {false, true}) {
      Bench b({.versions = true}, machine_with(inclusive));
      b.script.fill = kDirty | kFlag;
      store ? void(b.caches.own(0, 0, b.now)) : void(b.load(0));
      EXPECT_TRUE(b.caches.dirty(0));
      EXPECT_EQ(b.marked(0), (Marked{{Level::l2, kDirty | kFlag}, {Level::l1, kFlag}}));
      b.evict(Level::l2, 0);
      b.evict(Level::llc, 0);
      ASSERT_EQ(b.script.writes.size(), 1u);
      EXPECT_EQ(b.script.writes[0].flags, kFlag);
    }
  }
}

// 8. An older version that leaves the last level is written with its own bytes and flags, not with
// the newest ones, which may not be committed.
TEST(SimDesignCaches, R08_AnOlderVersionIsWrittenWithItsOwnBytes) {
  for (const bool inclusive : {false, true}) {
    Bench b({.versions = true}, machine_with(inclusive));
    b.store(0, kFlag);
    b.evict(Level::l2, 0);
    b.store(0, kOther);
    EXPECT_EQ(b.marked(0).front(), (std::pair{Level::llc, kDirty | kOlder | kFlag}));
    EXPECT_EQ(b.marked(0).back(), (std::pair{Level::l1, kDirty | kOther}));
    b.script.keep = true;
    b.evict(Level::llc, 0);
    ASSERT_EQ(b.script.writes.size(), inclusive ? 2u : 1u);
    EXPECT_EQ(b.script.writes[0].value, 1u);
    EXPECT_EQ(b.script.writes[0].flags, kFlag);
    if (inclusive) {
      EXPECT_EQ(b.script.writes[1].value, 2u) << "pulled along, and written after it";
      EXPECT_EQ(b.script.writes[1].flags, kOther);
    }
  }
}

// 8. So is each of three versions, the oldest first.
TEST(SimDesignCaches, R08_VersionsOfThreeLevelsAreWrittenInTheirOrder) {
  Bench b({.versions = true}, machine_with(true));
  b.store(0, kFlag);
  b.evict(Level::l2, 0);
  b.store(0, kFlag);
  b.evict(Level::l1, 0);
  b.store(0, kFlag);
  b.script.keep = true;
  b.evict(Level::llc, 0);
  ASSERT_EQ(b.script.writes.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(b.script.writes[i].value, i + 1);
  }
}

// 9. An inclusive last level evicts a line without flags there, whose content in L1 has some. That
// content, with its flags, leaves the last level.
TEST(SimDesignCaches, R09_AnInclusiveEvictionTakesTheFlagsOfL1Along) {
  Bench b;
  b.load(0);
  b.store(0, kFlag);
  b.evict(Level::llc, 0);
  ASSERT_EQ(b.script.moves.size(), 1u);
  EXPECT_EQ(b.script.moves[0].from, Level::llc);
  EXPECT_EQ(b.script.moves[0].bits, kDirty | kFlag);
  ASSERT_EQ(b.script.writes.size(), 1u);
  EXPECT_EQ(b.script.writes[0].flags, kFlag);
  EXPECT_EQ(b.caches.in_l1(0, 0), nullptr);
}

// 10. A hit on flags at L2 or the last level is done when the design says so; others cost nothing.
TEST(SimDesignCaches, R10_AHitOnFlagsTakesTheTimeOfTheDesign) {
  for (const uint32_t flags : {0u, kFlag}) {
    const Time more = flags == 0 ? 0 : 3;
    Bench b({.hits = true}, machine_with(false));
    b.store(0, flags);
    b.evict(Level::l1, 0);
    EXPECT_EQ(b.load(0), kL2 * kNs + more);
    b.evict(Level::l2, 0);
    EXPECT_EQ(b.load(0), kLlc * kNs + more);
    EXPECT_EQ(b.script.hits.size(), flags == 0 ? 0u : 2u);
  }
}

// 11. The last level takes write_cycles for a line that the design writes there, and hit_cycles for
// one that a core reads. Without write_cycles the two are the same.
TEST(SimDesignCaches, R11_WritesOfTheLastLevelHaveATimeOfTheirOwn) {
  for (const double cycles : {0.0, 55.0}) {
    MachineDescription machine = machine_with(false);
    machine.llc.write_cycles = cycles;
    Bench b({}, machine);
    b.store(0, kFlag);
    const Time write = cycles == 0 ? kLlc * kNs : 55 * kNs;
    EXPECT_EQ(b.caches.write_to_last_level(0, b.now), b.now + write);
    EXPECT_EQ(b.marked(0).front(), (std::pair{Level::llc, kDirty | kFlag}));
    EXPECT_NE(b.caches.in_l1(0, 0), nullptr) << "the copies above stay";
    b.evict(Level::l2, 0);
    EXPECT_EQ(b.load(0), kLlc * kNs);
  }
}

// 12. The owner of a line may load and store it without losing its older version in the last level.
TEST(SimDesignCaches, R12_TheOwnerKeepsItsOlderVersions) {
  for (const bool inclusive : {false, true}) {
    Bench b({.versions = true}, machine_with(inclusive));
    b.store(0, kFlag);
    b.evict(Level::l2, 0);
    b.store(0, kOther);
    b.evict(Level::l1, 0);
    b.store(0, kOther);
    uint64_t bytes[8];
    ASSERT_TRUE(b.caches.drop_newest(0, reinterpret_cast<std::byte*>(bytes)));
    EXPECT_EQ(bytes[0], 2u);
    ASSERT_TRUE(b.caches.drop_newest(0, reinterpret_cast<std::byte*>(bytes)));
    EXPECT_EQ(bytes[0], 1u);
    EXPECT_FALSE(b.caches.drop_newest(0, reinterpret_cast<std::byte*>(bytes)));
  }
}

// 12. Another core that stores to it gets the newest version only.
TEST(SimDesignCaches, R12_AnotherCoreGetsTheNewestVersionOnly) {
  for (const bool inclusive : {false, true}) {
    Bench b({.versions = true}, machine_with(inclusive));
    b.store(0, kFlag);
    b.evict(Level::l2, 0);
    b.store(0, kOther);
    b.caches.own(1, 0, b.now);
    EXPECT_EQ(b.marked(0), (Marked{{Level::l2, kOther}, {Level::l1, kDirty | kOther}}));
    EXPECT_EQ(sim::CoherentCachesCheck::contradiction(b.caches, kLines), "");
  }
}

// 13. A choice of a victim does not take the line away that the access brings up.
TEST(SimDesignCaches, R13_TheLineOfTheAccessStays) {
  Bench b({.victims = true}, machine_with(false));
  b.load(0);
  b.evict(Level::l1, 0);
  b.store(8, kFlag);  // in the set of line 0, in L1 and in L2
  for (const uint32_t line : {2, 4, 6, 10, 12, 14, 18}) {
    b.load(line);
  }
  int asked = 0;
  b.script.choose = [&](Level, const CacheArray::Way* set, size_t ways, uint32_t, uint32_t,
                        bool present) {
    for (size_t i = 0; present && i < ways; ++i) {
      if (set[i].line() == 0) {
        ++asked;
        return i;
      }
    }
    return ways - 1;
  };
  EXPECT_EQ(b.load(0), kL2 * kNs);
  EXPECT_EQ(asked, 1) << "line 8 has gone down with its flags";
  EXPECT_NE(b.caches.in_l1(0, 0), nullptr);
  EXPECT_EQ(sim::CoherentCachesCheck::contradiction(b.caches, kLines), "");
}

// 14. Content that a hardware transaction saves in L2 replaces an older version there.
TEST(SimDesignCaches, R14_SavedContentReplacesAnOlderVersion) {
  Bench b({.versions = true});
  b.store(0, kFlag);
  b.evict(Level::l1, 0);
  b.store(0, kOther);
  b.caches.save_below(0, 0);
  EXPECT_EQ(b.marked(0).front(), (std::pair{Level::l2, kDirty}));
  EXPECT_EQ(sim::CoherentCachesCheck::contradiction(b.caches, kLines), "");
}

// 14. An aborted hardware transaction uncovers it again.
TEST(SimDesignCaches, R14_AnAbortUncoversTheSavedContent) {
  for (const Level saved : {Level::l2, Level::llc}) {
    Bench b({.versions = true});
    b.store(0, kFlag);
    b.evict(saved == Level::l2 ? Level::l1 : Level::l2, 0);
    b.store(0, kOther);
    b.caches.drop_l1(0, 0);
    EXPECT_EQ(b.marked(0).front(), (std::pair{saved, kDirty | kFlag}));
    EXPECT_EQ(sim::CoherentCachesCheck::contradiction(b.caches, kLines), "");
    b.caches.write_back(0, false, b.now);
    EXPECT_EQ(b.script.writes.size(), 1u) << "a write-back finds it";
  }
}

// ---- machines

/// A memory that is only as far away as its controller says.
class Memory final : public sim::CacheClient {
 public:
  explicit Memory(const MachineDescription& machine)
      : dram(machine.dram, machine.line_bytes), medium(machine.medium, machine.line_bytes) {}
  Time read_memory(uint32_t line, Time now, Level& level, uint32_t&) override {
    level = line % 2 == 0 ? Level::dram : Level::medium;
    return (line % 2 == 0 ? dram : medium).read(uint64_t{line} * kApart, now);
  }
  Time write_memory(uint32_t, uint32_t, const std::byte*, Time now) override { return now; }
  void left_l1(int, uint32_t, uint32_t, uint32_t) override {}
  void left_llc(uint32_t, uint64_t) override {}
  bool tracked(uint32_t) override { return false; }

  static constexpr uint64_t kApart = uint64_t{1} << 20;  // no two lines in a row of a bank
  sim::MemoryController dram;
  sim::MemoryController medium;
};

// 21. A pointer chase through any level of any machine takes the time of its description.
TEST(SimDesignCaches, R21_AChaseTakesTheTimesOfTheDescription) {
  const std::vector<std::string> names = machine_names();
  EXPECT_GE(names.size(), 10u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const MachineDescription machine = find_machine(name).value();
    Memory memory(machine);
    CoherentCaches caches(machine, 64, memory);
    size_t room = machine.l1.bytes;
    for (const CacheDescription* cache : {&machine.l2, &machine.llc}) {
      room = cache->bytes != 0 ? std::min(room, cache->bytes) : room;
    }
    // Two chains fit in each cache.
    const auto chain = static_cast<uint32_t>(std::min<size_t>(16, room / machine.line_bytes / 2));
    Time now = 0;
    /// The nanoseconds of a hop, each after the one before.
    const auto chase = [&](uint32_t first, Level expected) {
      const Time start = now;
      for (uint32_t i = 0; i < chain; ++i) {
        const CoherentCaches::Outcome outcome = caches.load(0, first + 2 * i, now);
        EXPECT_EQ(outcome.level, expected);
        now = outcome.done;
      }
      return static_cast<double>(now - start) / kNs / chain;
    };
    const auto evict = [&](Level level) {
      for (uint32_t line = 0; line < 2 * chain; ++line) {
        caches.evict(level, 0, line, now);
      }
    };
    const auto cycles = [&](double n) { return n / machine.core.ghz; };
    const double last = cycles(machine.llc.bytes != 0  ? machine.llc.hit_cycles
                               : machine.l2.bytes != 0 ? machine.l2.hit_cycles
                                                       : machine.l1.hit_cycles);
    const auto beyond = [&](const MemoryDescription& d) {
      return last + d.path_ns + d.read_ns + d.bus_ns;
    };
    constexpr double kRounding = 0.005;  // five roundings to a picosecond
    EXPECT_NEAR(chase(0, Level::dram), beyond(machine.dram), kRounding);
    EXPECT_NEAR(chase(1, Level::medium), beyond(machine.medium), kRounding);
    EXPECT_NEAR(static_cast<double>(caches.l1_time()) / kNs, cycles(machine.l1.hit_cycles),
                kRounding);
    if (machine.l2.bytes != 0) {
      evict(Level::l1);
      EXPECT_NEAR(chase(0, Level::l2), cycles(machine.l2.hit_cycles), kRounding);
    }
    if (machine.llc.bytes != 0) {
      evict(Level::l2);
      EXPECT_NEAR(chase(0, Level::llc), cycles(machine.llc.hit_cycles), kRounding);
    }
  }
}

// 22. A whole machine adds nothing to that: a load alone in its window takes the same time.
TEST(SimDesignCaches, R22_ALoadTakesTheTimesOfTheDescription) {
  for (const std::string& name : machine_names()) {
    SCOPED_TRACE(name);
    const MachineDescription machine = find_machine(name).value();
    TimedBench b(machine);
    double medium = 0;
    double l1 = 0;
    b.on(0, [&] {
      if (machine.tlb.l1_sets != 0 || machine.ait.sets != 0) {
        b.touch(b.medium_line(1));  // TLBs and the cache of the address table have the page then
      }
      medium = b.latency(b.medium_line(0));
      l1 = b.latency(b.medium_line(0));
    });
    const double mapping = machine.ait.sets == 0 ? 0 : machine.ait.hit_cycles / machine.core.ghz;
    const double last = (machine.llc.bytes != 0  ? machine.llc.hit_cycles
                         : machine.l2.bytes != 0 ? machine.l2.hit_cycles
                                                 : machine.l1.hit_cycles) /
                        machine.core.ghz;
    const MemoryDescription& d = machine.medium;
    constexpr double kRounding = 0.005;
    EXPECT_NEAR(medium, last + mapping + d.path_ns + d.read_ns + d.bus_ns, kRounding);
    EXPECT_NEAR(
        l1, std::max(machine.l1.hit_cycles, machine.core.cycles_per_operation) / machine.core.ghz,
        kRounding);
  }
}

}  // namespace
}  // namespace holdfast::design_caches_test
