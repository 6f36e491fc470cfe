// SPDX-License-Identifier: Apache-2.0
//
// Do the state word and the two sides of Romulus keep their contracts?
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "holdfast/engines/romulus/left_right.h"
#include "holdfast/engines/romulus/state_word.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/present.h"

namespace holdfast::romulus_parts_test {
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

TEST(RomulusStateWord, HasThisForm) {
  EXPECT_EQ(StateWord::kMaxUsed, (uint64_t{1} << 40) - kLineBytes);
  const StateWord idle{.phase = Phase::idle};
  EXPECT_EQ(idle.used, 0u);
  EXPECT_EQ(idle.limit_log2, 0u);
  const uint64_t word = StateWord{Phase::mutating, 3 * kLineBytes, 20}.pack();
  const uint64_t payload = uint64_t{20} << 36 | 3 << 2 | 2;
  EXPECT_EQ(word, payload | mix64(payload) >> 42 << 42);
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
  EXPECT_EQ(uint64_t{1} << romulus::limit_log2(0), uint64_t{256} << 10);
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
}  // namespace holdfast::romulus_parts_test
