// SPDX-License-Identifier: Apache-2.0
//
// Do the parts of the Romulus engines keep their contracts?
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/isolation/combining/crwwp.h"
#include "holdfast/engines/parts/isolation/combining/store_log.h"
#include "holdfast/engines/romulus/left_right.h"
#include "holdfast/engines/romulus/state_word.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/present.h"

namespace holdfast {
namespace {

using romulus::Phase;
using romulus::StateWord;

TEST(RomulusStateWord, ComesBackAsItWasPacked) {
  for (const Phase phase : {Phase::idle, Phase::mutating, Phase::copying}) {
    for (const uint64_t used :
         {uint64_t{0}, uint64_t{64}, uint64_t{1} << 30, StateWord::kMaxUsed}) {
      for (const unsigned limit : {0U, 18U, 63U}) {
        const auto word = present(StateWord::unpack(StateWord{phase, used, limit}.pack()));
        EXPECT_EQ(word.phase, phase);
        EXPECT_EQ(word.used, used);
        EXPECT_EQ(word.limit_log2, limit);
      }
    }
  }
}

TEST(RomulusStateWord, NoticesEveryFlippedBitAndZeroes) {
  for (uint64_t used = 0; used < 1000 * kLineBytes; used += kLineBytes) {
    for (const Phase phase : {Phase::idle, Phase::mutating, Phase::copying}) {
      const uint64_t good = StateWord{phase, used, 20}.pack();
      for (int bit = 0; bit < 64; ++bit) {
        EXPECT_FALSE(StateWord::unpack(good ^ uint64_t{1} << bit)) << used << " bit " << bit;
      }
    }
  }
  EXPECT_FALSE(StateWord::unpack(0));
  EXPECT_FALSE(StateWord::unpack(~uint64_t{0}));
}

TEST(RomulusStateWord, LimitAllowsAtLeastDoubling) {
  for (const uint64_t used : {0UL, 1UL << 17, (1UL << 17) + 1, 5UL << 20, 1UL << 40}) {
    EXPECT_GE(uint64_t{1} << romulus::limit_log2(used), 2 * used);
    EXPECT_LE(uint64_t{1} << romulus::limit_log2(used), std::max(4 * used, uint64_t{256} << 10));
  }
}

TEST(RomulusLineFilter, NeverHidesALineItHasNotShown) {
  Random random(7);
  LineFilter filter;
  std::set<uint64_t> shown;
  uint64_t repeats = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t line = random.below(40);
    const bool first = filter.first(line);
    EXPECT_TRUE(first || shown.contains(line));
    repeats += first && shown.contains(line);
    shown.insert(line);
  }
  EXPECT_GT(repeats, 0u);  // it forgets, and that is allowed
  EXPECT_FALSE(filter.first(*shown.begin()) && filter.first(*shown.begin()));
}

TEST(RomulusLineFilter, VisitsAllLinesOfARange) {
  LineFilter filter;
  std::vector<uint64_t> lines;
  for_new_lines(filter, 60, 70, [&](uint64_t line) { lines.push_back(line); });
  EXPECT_EQ(lines, (std::vector<uint64_t>{0, 64, 128}));
}

/// Logs random stores of random lengths and undoes those after a mark.
TEST(RomulusStoreLog, RestoresExactlyWhatCameAfterTheMark) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const SimMachine machine;
    StoreLog<SimMachine> log;
    alignas(8) std::array<std::byte, 512> data{};
    const auto store = [&] {
      const uint64_t n = 1 + random.below(random.chance(0.5) ? 8 : 100);
      const uint64_t offset = random.below(data.size() - n + 1);
      log.append_range(data.data(), offset, n);
      for (uint64_t i = 0; i < n; ++i) {
        data[offset + i] = static_cast<std::byte>(random.next());
      }
      return n;
    };
    uint64_t before = 0;
    for (int i = 0; i < 10; ++i) {
      before += store();
    }
    const auto kept = data;
    const LogMark mark = log.end();
    for (int i = 0; i < 20; ++i) {
      store();
    }
    log.restore(mark, data.data());
    EXPECT_EQ(data, kept);
    log.truncate(mark);
    EXPECT_EQ(log.bytes(), before);
    log.restore({}, data.data());
    EXPECT_EQ(data, (std::array<std::byte, 512>{}));
  }
}

/// Stores leave the store buffers late, so that a missing fence between a reader's arrival and its
/// look at the writer's phase would show.
TEST(RomulusCrwwp, ReadersAndWriterExcludeEachOtherAndReadersLosePatience) {
  uint64_t refused = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimMachine machine({.threads = 3, .seed = seed, .drain_probability = 0.02});
    Crwwp<SimMachine> lock(machine);
    auto* words = make_array<uint64_t>(machine, 2);
    machine.run_threads(3, [&](int worker) {
      const int slot = machine.self();
      for (uint64_t i = 1; i <= 20; ++i) {
        if (worker == 0) {
          lock.exclude();
          SimMachine::store(words, i);
          SimMachine::store(words + 1, i);
          lock.admit();
        } else if (lock.enter(slot)) {
          const uint64_t second = SimMachine::load(words + 1);
          machine.pause();
          EXPECT_EQ(SimMachine::load(words), second);
          lock.leave(slot);
        } else {
          ++refused;
        }
      }
    });
    if (::testing::Test::HasFailure()) {
      break;
    }
  }
  EXPECT_GT(refused, 0u);  // else the way out for starving readers is untested
}

/// Also holds for the two sides: the readers' side does not change under them.
TEST(RomulusLeftRight, TheWriterWaitsForReadersOfTheSideItChanges) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimMachine machine({.threads = 3, .seed = seed, .drain_probability = 0.02});
    LeftRight<SimMachine> sides(machine);
    auto* words = make_array<uint64_t>(machine, 4);
    machine.run_threads(3, [&](int worker) {
      const int slot = machine.self();
      for (uint64_t i = 1; i <= 20; ++i) {
        if (worker == 0) {
          const uint64_t side = i % 2;
          sides.direct(1 - side);
          sides.wait_for_stragglers();
          SimMachine::store(words + 2 * side, i);
          SimMachine::store(words + 2 * side + 1, i);
        } else {
          const uint64_t* mine = words + 2 * sides.enter(slot);
          const uint64_t second = SimMachine::load(mine + 1);
          machine.pause();
          EXPECT_EQ(SimMachine::load(mine), second);
          sides.leave(slot);
        }
      }
    });
    if (::testing::Test::HasFailure()) {
      break;
    }
  }
}

}  // namespace
}  // namespace holdfast
