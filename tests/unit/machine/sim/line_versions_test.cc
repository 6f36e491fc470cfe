// SPDX-License-Identifier: Apache-2.0
// Do the caches keep every version of a line that they should, each with its own bytes and flags?
// Random operations run on small caches with a hardware design. The memory below them knows which
// versions must still exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <unordered_map>
#include <vector>

#include "holdfast/base/random.h"
#include "tests/sanitized.h"
#include "tests/unit/machine/sim/coherent_caches_check.h"
#include "tests/unit/machine/sim/timed_machine.h"

namespace holdfast::line_versions_test {
namespace {

using sim::CacheArray;
using sim::CacheFeatures;
using sim::CoherentCaches;
using sim::LineBits;

constexpr uint32_t kLines = 48;
constexpr size_t kLineBytes = 64;
constexpr uint32_t kTransaction = 1u << LineBits::kFlagShift;
constexpr uint32_t kCommitted = 2u << LineBits::kFlagShift;

using Bytes = std::array<std::byte, kLineBytes>;

/// The bytes of a version: its number in each word.
Bytes bytes_of(uint64_t version) {
  Bytes bytes;
  for (size_t at = 0; at < kLineBytes; at += sizeof(version)) {
    std::memcpy(&bytes[at], &version, sizeof(version));
  }
  return bytes;
}
uint64_t version_in(const std::byte* bytes) {
  uint64_t version;
  std::memcpy(&version, bytes, sizeof(version));
  EXPECT_EQ(std::memcmp(bytes, bytes_of(version).data(), kLineBytes), 0) << "torn bytes";
  return version;
}

/// The rule of this design: committed content is kept while newer content is not committed.
bool keeps_under(uint32_t resident, uint32_t coming) {
  return (resident & kCommitted) != 0 && (coming & kCommitted) == 0;
}

/// A dirty copy of a line.
struct Copy {
  Level level;
  uint64_t version;
  uint32_t flags;
};
/// By line: its dirty copies, the oldest first.
using Copies = std::vector<std::vector<Copy>>;

/// The numbers of events in which the caches could go wrong. A run without them proves nothing.
struct Seen {
  int kept = 0;
  int overwritten = 0;
  int older_written = 0;
  int taken = 0;
  int refused = 0;
  int displaced = 0;
  int dropped_to_older = 0;
  int dropped_to_memory = 0;
  int dirty_fills = 0;
  int hits = 0;
  int touches = 0;
  uint64_t times = 0;  ///< a digest of the times of all operations
};

class World final : private sim::CacheClient {
 public:
  World(const MachineDescription& machine, const CacheFeatures& features, uint64_t seed, Seen& seen)
      : features_(features),
        random_(seed),
        seen_(seen),
        caches_(machine, kLines, *this),
        has_llc_(machine.llc.bytes != 0),
        lines_(kLines) {
    caches_.attach_design(features);
  }

  void step() {
    now_ += 1000;
    // Some lines are used more often, mostly by one core, so that several versions pile up.
    const auto cores = static_cast<uint64_t>(caches_.cores());
    const auto line = static_cast<uint32_t>(random_.below(random_.chance(0.5) ? 6 : kLines));
    const auto core = static_cast<int>(random_.chance(0.6) ? line % cores : random_.below(cores));
    left_.clear();
    flags_changed_.clear();
    before_ = copies();
    transfer_ = caches_.l2_of(core) != lines_[line].domain;
    operate(random_.below(16), core, line);
    check(line);
  }

 private:
  struct Line {
    uint64_t newest = 0;
    uint64_t memory = 0;
    uint64_t held = 0;  ///< by the design, which has taken it at the last level; 0: none
    size_t domain = 0;  ///< of the last store
    uint64_t persisted() const { return std::max(memory, held); }
  };

  // ---- operations

  void operate(uint64_t what, int core, uint32_t line) {
    if (what < 5) {
      store(core, line);
    } else if (what < 9) {
      if (caches_.in_l1(core, line) == nullptr) {
        note(caches_.load(core, line, now_));
        EXPECT_NE(caches_.in_l1(core, line), nullptr) << "a load brings the line to L1";
      }
    } else if (what == 9) {
      transfer_ = true;  // older versions are of no more use
      note(caches_.write_back(line, random_.chance(0.3), now_));
      EXPECT_EQ(lines_[line].persisted(), lines_[line].newest);
      EXPECT_FALSE(caches_.dirty(line));
    } else if (what == 10) {
      push_down(core, line);
    } else if (what == 11) {
      note(caches_.write_to_last_level(line, now_));
      const Copies now = copies();
      for (const Copy& copy : now[line]) {
        EXPECT_TRUE(copy.level == Level::llc || !features_.versions) << "dirty above";
      }
    } else if (what == 12) {
      const uint32_t flags = any_flags();
      caches_.set_flags(line, flags);
      flags_[lines_[line].newest] = flags;
      flags_changed_.insert(lines_[line].newest);
    } else if (what < 15) {
      evict(core, line);
    } else {
      drop(line);
    }
  }

  void store(int core, uint32_t line) {
    CacheArray::Way* way = caches_.in_l1(core, line);
    if (way == nullptr || (way->meta & LineBits::kOwned) == 0) {
      note(caches_.own(core, line, now_));
      way = caches_.in_l1(core, line);
    }
    ASSERT_NE(way, nullptr) << "own() brings the line to L1";
    if (features_.versions && (way->meta & LineBits::kDirty) == 0) {
      caches_.supersede(core, line, bytes_of(lines_[line].newest).data());
    }
    if (random_.chance(0.6)) {
      way->meta = (way->meta & ~LineBits::kFlags) | any_flags();
    }
    way->meta |= LineBits::kDirty;
    lines_[line].newest = ++last_version_;
    lines_[line].domain = caches_.l2_of(core);
    flags_[last_version_] = way->meta & LineBits::kFlags;
  }

  void push_down(int core, uint32_t line) {
    CacheArray::Way* way = caches_.in_l1(core, line);
    const bool dirty = way != nullptr && (way->meta & LineBits::kDirty) != 0;
    note(caches_.push_down(core, line, now_));
    way = caches_.in_l1(core, line);
    if (dirty) {
      ASSERT_NE(way, nullptr) << "the copy stays";
      EXPECT_EQ(way->meta & LineBits::kContent, 0u);
    }
  }

  void evict(int core, uint32_t line) {
    const uint64_t level = random_.below(3);
    if (level == 0) {
      note(caches_.evict(Level::l1, static_cast<size_t>(core), line, now_));
      EXPECT_EQ(caches_.in_l1(core, line), nullptr);
    } else if (level == 1) {
      note(caches_.evict(Level::l2, caches_.l2_of(core), line, now_));
      EXPECT_EQ(caches_.in_l1(core, line), nullptr);
    } else if (has_llc_) {
      note(caches_.evict(Level::llc, random_.below(caches_.last_levels()), line, now_));
    }
  }

  void drop(uint32_t line) {
    const std::vector<Copy> stack = copies()[line];
    const bool older = features_.versions && stack.size() > 1;
    Bytes bytes{};
    ASSERT_EQ(caches_.drop_newest(line, bytes.data()), older) << "line " << line;
    lines_[line].newest = lines_[line].persisted();
    if (older) {
      lines_[line].newest = version_in(bytes.data());
      EXPECT_EQ(lines_[line].newest, stack[stack.size() - 2].version) << "the next older version";
    }
    ++(older ? seen_.dropped_to_older : seen_.dropped_to_memory);
  }

  void note(Time done) {
    EXPECT_GE(done, now_);
    seen_.times = mix64(seen_.times ^ done);
  }
  void note(const CoherentCaches::Outcome& outcome) {
    note(outcome.done);
    seen_.times = mix64(seen_.times ^ static_cast<uint64_t>(outcome.level));
  }

  uint32_t any_flags() {
    static constexpr uint32_t kChoice[] = {0, kTransaction, kTransaction, kCommitted};
    return kChoice[random_.below(4)];
  }

  // ---- checks

  Copies copies() {
    Copies all(kLines);
    caches_.for_each_marked([&](Level level, uint32_t line, uint32_t meta, const std::byte* older) {
      EXPECT_EQ(older != nullptr, (meta & LineBits::kOlder) != 0);
      if ((meta & LineBits::kDirty) != 0) {
        const uint64_t version = older != nullptr ? version_in(older) : lines_[line].newest;
        all[line].push_back({level, version, meta & LineBits::kFlags});
      }
    });
    return all;
  }

  void check(uint32_t operated) {
    EXPECT_EQ(sim::CoherentCachesCheck::contradiction(caches_, kLines), "");
    const Copies after = copies();
    for (uint32_t line = 0; line < kLines; ++line) {
      const Line& state = lines_[line];
      EXPECT_TRUE(state.newest == state.persisted() ||
                  (!after[line].empty() && after[line].back().version == state.newest))
          << "the newest version of line " << line << " is lost";
      if (features_.versions) {
        check_versions(line, after[line], line == operated && transfer_);
      }
    }
  }

  void check_versions(uint32_t line, const std::vector<Copy>& after, bool transfer) {
    uint64_t last = lines_[line].persisted();
    for (const Copy& copy : after) {
      EXPECT_GT(copy.version, last) << "line " << line << ": above is newer";
      EXPECT_EQ(copy.flags, flags_[copy.version]) << "line " << line;
      last = copy.version;
    }
    const std::vector<Copy>& before = before_[line];
    for (size_t i = 0; i + 1 < before.size(); ++i) {
      const uint64_t version = before[i].version;
      bool must_stay = !transfer && !flags_changed_.contains(version);
      for (size_t newer = i + 1; newer < before.size(); ++newer) {
        must_stay &= keeps_under(before[i].flags, before[newer].flags) &&
                     !flags_changed_.contains(before[newer].version);
      }
      const bool there = std::any_of(after.begin(), after.end(),
                                     [&](const Copy& copy) { return copy.version == version; });
      EXPECT_TRUE(!must_stay || there || left_.contains(version))
          << "version " << version << " of line " << line << " is lost";
    }
  }

  /// A version has left the caches: to memory, or to the design.
  void leaves(uint32_t line, uint64_t version, uint64_t& to) {
    const uint64_t persisted = lines_[line].persisted();
    EXPECT_TRUE(version > persisted || (!features_.versions && version == persisted))
        << "line " << line << ": version " << version << " comes after " << persisted;
    left_.insert(version);
    to = version;
  }

  // ---- CacheClient

  Time read_memory(uint32_t line, Time now, Level& level, uint32_t& bits) override {
    Line& state = lines_[line];
    EXPECT_EQ(state.newest, state.persisted()) << "memory lacks the newest version of " << line;
    level = Level::medium;
    bits |= any_flags();
    if (state.held != 0 && random_.chance(0.5)) {  // the design gives it back
      bits |= LineBits::kDirty;
      state.held = 0;
      flags_[state.newest] = bits & LineBits::kFlags;
      ++seen_.dirty_fills;
    }
    return now + 100;
  }

  Time write_memory(uint32_t line, uint32_t meta, const std::byte* older, Time now) override {
    Line& state = lines_[line];
    const uint64_t version = older != nullptr ? version_in(older) : state.newest;
    EXPECT_TRUE(older == nullptr || version < state.newest);
    EXPECT_TRUE(!features_.versions || (meta & LineBits::kFlags) == flags_[version]);
    leaves(line, version, state.memory);
    state.held = 0;
    seen_.older_written += older != nullptr ? 1 : 0;
    return now + random_.below(50);
  }

  Left leaving(Level from, uint32_t line, uint32_t meta, const std::byte* older,
               Time now) override {
    EXPECT_NE(meta & LineBits::kFlags, 0u);
    EXPECT_EQ(older != nullptr, (meta & LineBits::kOlder) != 0);
    const Time done = now + random_.below(50);
    if ((meta & LineBits::kDirty) == 0) {
      return {meta, done};
    }
    const uint64_t version = older != nullptr ? version_in(older) : lines_[line].newest;
    EXPECT_TRUE(!features_.versions || (meta & LineBits::kFlags) == flags_[version]);
    if (from == Level::llc && random_.chance(0.3)) {
      leaves(line, version, lines_[line].held);
      ++seen_.taken;
      return {meta & ~LineBits::kDirty, done};
    }
    if (random_.chance(0.1)) {
      const uint32_t flags = any_flags();
      meta = (meta & ~LineBits::kFlags) | flags;
      flags_[version] = flags;
      flags_changed_.insert(version);
    }
    return {meta, done};
  }

  size_t victim(Level level, const CacheArray::Way* set, size_t ways, uint32_t line, uint32_t,
                bool present) override {
    EXPECT_TRUE(features_.victims);
    EXPECT_EQ(present,
              std::any_of(set, set + ways, [&](const auto& w) { return w.line() == line; }));
    if (present ? random_.chance(0.5) : level == Level::llc && random_.chance(0.1)) {
      seen_.refused += present ? 0 : 1;
      return ways;
    }
    const size_t way = random_.below(ways);
    seen_.displaced += present && set[way].line() != line ? 1 : 0;
    return set[way].line() == CacheArray::kNoLine ? ways : way;
  }

  bool keeps(Level, uint32_t, uint32_t resident, uint32_t coming) override {
    EXPECT_NE(resident & LineBits::kDirty, 0u);
    EXPECT_NE((resident | coming) & LineBits::kFlags, 0u);
    if (!features_.versions) {
      return false;  // the two have the same bytes
    }
    EXPECT_NE(resident & LineBits::kOlder, 0u);
    const bool kept = keeps_under(resident, coming);
    ++(kept ? seen_.kept : seen_.overwritten);
    return kept;
  }

  void touched(int, uint32_t line, uint32_t flags, bool, Time) override {
    EXPECT_TRUE(features_.touches);
    EXPECT_NE(flags, 0u);
    ++seen_.touches;
    if (random_.chance(0.1)) {
      drop(line);
      before_ = copies();
    }
  }

  Time hit(Level level, int core, uint32_t line, uint32_t meta, bool write, Time done) override {
    seen_.times = mix64(seen_.times ^ (line << 8 | static_cast<uint32_t>(core) << 1 |
                                       static_cast<uint32_t>(write)));
    EXPECT_TRUE(features_.hits);
    EXPECT_TRUE(level == Level::l2 || level == Level::llc);
    EXPECT_NE(meta & LineBits::kFlags, 0u);
    ++seen_.hits;
    return done + 1;
  }

  void reaches_last_level() override { EXPECT_TRUE(features_.nonvolatile_llc); }
  void left_l1(int, uint32_t, uint32_t, uint32_t) override {}
  void left_llc(uint32_t, uint64_t) override {}
  bool tracked(uint32_t line) override { return line % 7 == 3; }

  CacheFeatures features_;
  Random random_;
  Seen& seen_;
  CoherentCaches caches_;
  bool has_llc_;
  std::vector<Line> lines_;
  std::unordered_map<uint64_t, uint32_t> flags_;  ///< by version
  uint64_t last_version_ = 0;
  Time now_ = 0;
  Copies before_;  ///< before the present step
  bool transfer_ = false;
  std::set<uint64_t> left_;  ///< versions that have left the caches in this step
  std::set<uint64_t> flags_changed_;
};

/// The kinds of machines: of the last level, and of L2.
enum class Llc : uint8_t { evictions_fill, inclusive, misses_fill, none };
enum class L2 : uint8_t { of_a_core, shared, none };

MachineDescription small(Llc llc, L2 l2) {
  MachineDescription machine = round_machine();
  machine.l1.bytes = size_t{2} * 2 * kLineBytes;
  machine.l1.ways = 2;
  machine.l2.bytes = size_t{2} * 4 * kLineBytes;
  machine.l2.ways = 4;
  machine.l2.cores = l2 == L2::shared ? 2 : 1;
  machine.llc.bytes = size_t{3} * 8 * kLineBytes;
  machine.llc.ways = 8;
  machine.llc.inclusive = llc == Llc::inclusive;
  machine.llc.fills_on_miss = llc == Llc::misses_fill;
  if (l2 == L2::none) {
    machine.l2 = {};
  }
  if (llc == Llc::none) {
    machine.llc = {};
  }
  return machine;
}

/// Runs every kind of machine with every set of features.
void run_all(uint64_t first_seed, uint64_t seeds, int steps, Seen& seen) {
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    for (const Llc llc : {Llc::evictions_fill, Llc::inclusive, Llc::misses_fill, Llc::none}) {
      for (const L2 l2 : {L2::of_a_core, L2::shared, L2::none}) {
        for (unsigned set = 0; set < 32; ++set) {
          const CacheFeatures features = {.victims = (set & 1) != 0,
                                          .versions = (set & 2) != 0,
                                          .hits = (set & 4) != 0,
                                          .touches = (set & 8) != 0,
                                          .flags_move_up = (set & 16) != 0,
                                          .nonvolatile_llc = (set & 4) != 0};
          World world(small(llc, l2), features, seed * 1000 + set, seen);
          for (int step = 0; step < steps; ++step) {
            world.step();
            ASSERT_FALSE(testing::Test::HasFailure())
                << "seed " << seed << ", last level " << static_cast<int>(llc) << ", L2 "
                << static_cast<int>(l2) << ", features " << set << ", step " << step;
          }
        }
      }
    }
  }
}

TEST(SimLineVersions, NoVersionIsLostOrInvented) {
  Seen seen;
  run_all(1, 1, kSanitized ? 120 : 500, seen);
  for (const int events :
       {seen.kept, seen.overwritten, seen.older_written, seen.taken, seen.refused, seen.displaced,
        seen.dropped_to_older, seen.dropped_to_memory, seen.dirty_fills, seen.hits, seen.touches}) {
    EXPECT_GT(events, kSanitized ? 0 : 100);
  }
  // After an intended change of the caches' times or of this test the number is another one.
  EXPECT_TRUE(kSanitized || seen.times == 9785627225490410598U)
      << seen.times << ": other times than ever";
}

TEST(SimLineVersions, LongNoVersionIsLostOrInvented) {
  Seen seen;
  run_all(2, 4, 1000, seen);
}

}  // namespace
}  // namespace holdfast::line_versions_test
