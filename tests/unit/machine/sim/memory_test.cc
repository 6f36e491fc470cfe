// SPDX-License-Identifier: Apache-2.0
// Does the simulated memory keep total store order, with store buffers that forward and drain in
// order, and nothing else?
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::memory_test {
namespace {

using Word64 = SimMachine::Atomic<uint64_t>;
using Outcomes = std::set<std::pair<uint64_t, uint64_t>>;

constexpr uint64_t kSeeds = 300;

enum class Between { nothing, fence, rmw, failed_cas, seq_cst };

/// Each thread stores to its own word, then loads the other's.
Outcomes store_buffering(Between between) {
  Outcomes outcomes;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimMachine machine({.threads = 2, .seed = seed});
    auto* words = make_array<Word64>(machine, 32);
    std::array<uint64_t, 2> seen{};
    machine.run_threads(2, [&](int i) {
      const size_t own = static_cast<size_t>(i) * 16;
      Word64& mine = words[own];
      const Word64& other = words[16 - own];
      mine.store(
          1, between == Between::seq_cst ? std::memory_order_seq_cst : std::memory_order_release);
      if (between == Between::fence) {
        machine.fence();
      } else if (between == Between::rmw) {
        words[8].fetch_add(0);
      } else if (between == Between::failed_cas) {
        uint64_t wrong = 9;
        EXPECT_FALSE(words[8].compare_exchange(wrong, 1));
      }
      seen[static_cast<size_t>(i)] = other.load();
    });
    outcomes.insert({seen[0], seen[1]});
  }
  return outcomes;
}

TEST(SimMemory, StoreBufferingIsVisibleWithoutAFence) {
  const Outcomes outcomes = store_buffering(Between::nothing);
  EXPECT_EQ(outcomes.count({0, 0}), 1u);
  EXPECT_EQ(outcomes.size(), 4u) << "every interleaving is reachable as well";
}

TEST(SimMemory, StoreBufferingIsImpossibleAcrossAFenceRmwOrSeqCstStore) {
  for (const Between between :
       {Between::fence, Between::rmw, Between::failed_cas, Between::seq_cst}) {
    const Outcomes outcomes = store_buffering(between);
    EXPECT_EQ(outcomes.count({0, 0}), 0u) << "kind " << static_cast<int>(between);
    EXPECT_EQ(outcomes.size(), 3u);
  }
}

TEST(SimMemory, NoStoreBufferMeansSequentialConsistency) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimMachine machine({.threads = 2, .seed = seed, .store_buffer = 0});
    auto* words = make_array<uint64_t>(machine, 2);
    std::array<uint64_t, 2> seen{};
    machine.run_threads(2, [&](int i) {
      SimMachine::store(words + i, uint64_t{1});
      seen[static_cast<size_t>(i)] = SimMachine::load(words + 1 - i);
    });
    ASSERT_NE(seen[0] + seen[1], 0u) << "seed " << seed;
  }
}

TEST(SimMemory, MessagePassingIsAlwaysOrdered) {
  Outcomes outcomes;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimMachine machine({.threads = 2, .seed = seed});
    auto* data = make_array<uint64_t>(machine, 32);
    machine.run_threads(2, [&](int i) {
      if (i == 0) {
        SimMachine::store(data, uint64_t{1});
        SimMachine::store_release(data + 16, uint64_t{1});
      } else {
        const uint64_t flag = SimMachine::load(data + 16);
        outcomes.insert({flag, SimMachine::load(data)});
      }
    });
  }
  EXPECT_EQ(outcomes.count({1, 0}), 0u);
  EXPECT_EQ(outcomes.size(), 3u);
}

TEST(SimMemory, LoadsAreForwardedFromOwnStoresAlsoWhereTheyOverlapInPart) {
  SimMachine machine({.threads = 1, .drain_probability = 0});
  auto* word = make_array<uint64_t>(machine, 2);
  machine.run_threads(1, [&](int) {
    SimMachine::store(word, uint64_t{0x1111'1111'1111'1111});
    auto* bytes = reinterpret_cast<uint8_t*>(word);
    auto* halves = reinterpret_cast<uint32_t*>(word);
    SimMachine::store(bytes + 1, uint8_t{0x22});
    SimMachine::store(halves + 1, uint32_t{0x33333333});
    EXPECT_EQ(SimMachine::load(word), 0x3333'3333'1111'2211u);
    EXPECT_EQ(SimMachine::load(bytes + 1), 0x22);
    EXPECT_EQ(SimMachine::load(halves), 0x1111'2211u);
  });
  EXPECT_EQ(SimMachine::load(word), 0x3333'3333'1111'2211u);
}

TEST(SimMemory, OtherThreadsSeeAStoreOnlyOnceItHasLeftTheBuffer) {
  SimMachine machine({.threads = 2, .drain_probability = 0});
  auto* word = make_object<uint64_t>(machine);
  auto* turn = make_object<uint64_t>(machine);
  uint64_t seen = 99;
  machine.run_threads(2, [&](int i) {
    if (i == 0) {
      SimMachine::store(word, uint64_t{7});
      for (int k = 0; k < 100; ++k) {
        machine.pause();
      }
      machine.fence();
      SimMachine::store(turn, uint64_t{1});
      machine.fence();
    } else {
      while (SimMachine::load(turn) == 0) {
        const uint64_t now = SimMachine::load(word);
        seen = now == 0 && SimMachine::load(turn) == 0 ? 0 : seen;
      }
      EXPECT_EQ(SimMachine::load(word), 7u);
    }
  });
  EXPECT_EQ(seen, 0u);
}

TEST(SimMemory, AFullStoreBufferLetsItsOldestEntryGo) {
  SimMachine machine({.threads = 1, .store_buffer = 4, .drain_probability = 0});
  auto* words = make_array<uint64_t>(machine, 8);
  machine.run_threads(1, [&](int) {
    for (uint64_t k = 0; k < 4; ++k) {
      SimMachine::store(words + k, k + 1);
    }
    EXPECT_EQ(words[0], 0u) << "what others see";
    SimMachine::store(words + 4, uint64_t{5});
    EXPECT_EQ(words[0], 1u);
    EXPECT_EQ(words[1], 0u);
  });
}

TEST(SimMemory, WordsOfEverySizeComeBackAndRangesOfEveryAlignment) {
  SimMachine machine({.threads = 1, .drain_probability = 0.2});
  auto* bytes = make_array<char>(machine, 64);
  machine.run_threads(1, [&](int) {
    for (size_t at = 0; at < 24; ++at) {  // also across words
      const std::array value{'a', 'b', 'c', 'd', 'e', 'f', 'g', static_cast<char>('h' + at)};
      SimMachine::copy(bytes + at, value.data(), value.size());
      std::array<char, 8> back{};
      SimMachine::copy(back.data(), bytes + at, back.size());
      ASSERT_EQ(back, value) << at;
    }
    SimMachine::store(reinterpret_cast<bool*>(bytes), true);
    EXPECT_TRUE(SimMachine::load(reinterpret_cast<bool*>(bytes)));
    SimMachine::store(reinterpret_cast<double*>(bytes), 2.5);
    EXPECT_EQ(SimMachine::load(reinterpret_cast<double*>(bytes)), 2.5);
  });
}

TEST(SimMemory, CopyMovesAnyRangeBetweenPrivateAndSharedMemory) {
  SimMachine machine({.threads = 1});
  auto* shared = make_array<char>(machine, 256);
  const auto check = [&](size_t from, size_t to, size_t n) {
    char source[100];
    char target[100] = {};
    for (size_t i = 0; i < sizeof(source); ++i) {
      source[i] = static_cast<char>(i * 7 + n);
    }
    SimMachine::copy(shared + to, source + from, n);
    SimMachine::copy(shared + 128 + from, shared + to, n);
    SimMachine::copy(target, shared + 128 + from, n);
    ASSERT_EQ(std::memcmp(target, source + from, n), 0) << from << ' ' << to << ' ' << n;
  };
  const auto all = [&](int) {
    for (size_t n = 0; n < 40; n += 3) {
      check(n % 8, n % 5, n);
    }
  };
  all(0);
  machine.run_threads(1, all);
}

TEST(SimMemory, PrivateMemoryOutsideTheArenaIsPlainMemory) {
  SimMachine machine({.threads = 1, .switch_probability = 1});
  machine.run_threads(1, [&](int) {
    uint64_t local = 1;
    const uint64_t before = machine.now();
    SimMachine::store(&local, uint64_t{2});
    EXPECT_EQ(SimMachine::load(&local), 2u);
    EXPECT_EQ(machine.now(), before + 1) << "not an operation of the machine";
  });
}

TEST(SimMemory, AtomicsOfAllTypes) {
  SimMachine machine({.threads = 1});
  auto* flag = make_object<SimMachine::Atomic<bool>>(machine);
  auto* pointer = make_object<SimMachine::Atomic<int*>>(machine);
  auto* small = make_array<SimMachine::Atomic<int16_t>>(machine, 2);
  int target = 0;
  machine.run_threads(1, [&](int) {
    EXPECT_FALSE(flag->exchange(true));
    EXPECT_TRUE(flag->load());
    int* expected = &target;
    EXPECT_FALSE(pointer->compare_exchange(expected, nullptr));
    EXPECT_EQ(expected, nullptr);
    EXPECT_TRUE(pointer->compare_exchange(expected, &target));
    EXPECT_EQ(pointer->load(), &target);
    EXPECT_EQ(small[1].fetch_add(-5), 0);
    EXPECT_EQ(small[1].load(), -5);
    EXPECT_EQ(small[0].load(), 0) << "its neighbour in the word is untouched";
  });
  const SimMachine::Atomic<uint64_t> misplaced;
  EXPECT_THROW(misplaced.load(), Error);
}

}  // namespace
}  // namespace holdfast::memory_test
