// SPDX-License-Identifier: Apache-2.0
// Do translations cost what the TLBs of a machine say, and nothing on a machine without?
#include "holdfast/machine/sim/caches/tlb.h"

#include <gtest/gtest.h>

#include "tests/unit/machine/sim/timed_machine.h"

namespace holdfast::tlb_test {
namespace {

using sim::Tlbs;

constexpr Time kSecond = 8;  ///< cycles of the second level
constexpr size_t kLinesOfAPage = kPageBytes / 64;

/// A first level of two pages, and a second one of four, each in one set.
constexpr TlbDescription kSmall = {
    .l1_sets = 1, .l1_ways = 2, .l2_sets = 1, .l2_ways = 4, .l2_cycles = 8};

MachineDescription with_tlbs(TlbDescription tlb = kSmall) {
  MachineDescription m = round_machine();
  m.tlb = tlb;
  return m;
}

// ---- the TLBs alone

std::vector<uint32_t> use(Tlbs& tlbs, std::vector<uint32_t> pages, Tlbs::Found last) {
  std::vector<uint32_t> left;
  Tlbs::Found found = Tlbs::Found::first;
  for (const uint32_t page : pages) {
    found = tlbs.use(0, page, [&](uint32_t gone) { left.push_back(gone); });
  }
  EXPECT_EQ(found, last);
  return left;
}

TEST(Tlb, APageIsFoundInTheFirstLevelUntilTwoOthersAreUsed) {
  Tlbs tlbs(kSmall, 1);
  use(tlbs, {1}, Tlbs::Found::nowhere);
  use(tlbs, {1}, Tlbs::Found::first);
  use(tlbs, {2, 1}, Tlbs::Found::first);
  use(tlbs, {3, 2}, Tlbs::Found::second);
  EXPECT_TRUE(tlbs.in_first(0, 2));
  EXPECT_FALSE(tlbs.in_first(0, 1));
}

TEST(Tlb, APageLeavesWhenNoLevelHasIt) {
  Tlbs tlbs(kSmall, 1);
  EXPECT_EQ(use(tlbs, {1, 2, 3, 4}, Tlbs::Found::nowhere), std::vector<uint32_t>{});
  EXPECT_EQ(use(tlbs, {5}, Tlbs::Found::nowhere), std::vector<uint32_t>{1});
  use(tlbs, {1}, Tlbs::Found::nowhere);
}

// The second level does not see hits in the first, so it gives up a page that the first still has.
TEST(Tlb, APageOfTheFirstLevelThatTheSecondHasGivenUpLeavesWithTheFirst) {
  Tlbs tlbs(kSmall, 1);
  EXPECT_EQ(use(tlbs, {1, 2, 1, 3, 1, 4, 1, 5}, Tlbs::Found::nowhere), std::vector<uint32_t>{});
  use(tlbs, {1}, Tlbs::Found::first);
  EXPECT_EQ(use(tlbs, {6}, Tlbs::Found::nowhere), std::vector<uint32_t>{2});
  EXPECT_EQ(use(tlbs, {7}, Tlbs::Found::nowhere), (std::vector<uint32_t>{3, 1}));
}

TEST(Tlb, ASetTakesOnlyItsPages) {
  Tlbs tlbs({.l1_sets = 1, .l1_ways = 1, .l2_sets = 3, .l2_ways = 1, .l2_cycles = 8}, 1);
  EXPECT_EQ(use(tlbs, {0, 1, 2}, Tlbs::Found::nowhere), std::vector<uint32_t>{});
  EXPECT_EQ(use(tlbs, {4}, Tlbs::Found::nowhere), std::vector<uint32_t>{1});
  use(tlbs, {0}, Tlbs::Found::second);
}

TEST(Tlb, EachCoreHasItsOwn) {
  Tlbs tlbs(kSmall, 2);
  use(tlbs, {1}, Tlbs::Found::nowhere);
  EXPECT_EQ(tlbs.use(1, 1, [](uint32_t) {}), Tlbs::Found::nowhere);
}

TEST(Tlb, AShootDownTakesEachPageOnce) {
  Tlbs tlbs(kSmall, 1);
  use(tlbs, {1, 2, 3}, Tlbs::Found::nowhere);
  std::vector<uint32_t> left;
  tlbs.empty(0, [&](uint32_t page) { left.push_back(page); });
  EXPECT_EQ(left, (std::vector<uint32_t>{3, 2, 1}));
  use(tlbs, {2}, Tlbs::Found::nowhere);
}

// ---- time

/// The cycles of a load of a line that L1 has, with its page where `others` pages leave it.
double load_after(const MachineDescription& machine, size_t others) {
  TimedBench b(machine);
  double took = 0;
  b.on(0, [&] {
    b.touch(b.line(0));
    for (size_t page = 1; page <= others; ++page) {
      b.touch(b.line(page * kLinesOfAPage + page));  // of another set of L1
    }
    b.m.work(1000);
    took = b.latency(b.line(0));
  });
  return took;
}

TEST(TimedTlb, Rule1AHitInTheFirstLevelCostsNothing) {
  EXPECT_EQ(load_after(with_tlbs(), 1), load_after(round_machine(), 1));
}

TEST(TimedTlb, Rule2AHitInTheSecondLevelDelaysTheLoad) {
  EXPECT_EQ(load_after(with_tlbs(), 2), load_after(round_machine(), 2) + kSecond);
  EXPECT_EQ(load_after(with_tlbs(), 3), load_after(round_machine(), 3) + kSecond);
}

// The line of the page table with the entries of all these pages is in L1.
TEST(TimedTlb, Rule3AMissOfBothLoadsTheEntryThroughTheCaches) {
  EXPECT_EQ(load_after(with_tlbs(), 4), load_after(round_machine(), 4) + kSecond + kL1);
}

// The page table lies in DRAM. The first load of the machine misses the TLBs and all caches twice.
TEST(TimedTlb, Rule3AWalkThatMissesTheCachesReadsDram) {
  const auto first = [](const MachineDescription& machine) {
    TimedBench b(machine);
    double took = 0;
    b.on(0, [&] { took = b.latency(b.line(0)); });
    EXPECT_EQ(b.m.statistics().dram_reads, machine.tlb.l1_sets != 0 ? 2u : 1u);
    EXPECT_EQ(b.m.statistics().page_walks, machine.tlb.l1_sets != 0 ? 1u : 0u);
    return took;
  };
  EXPECT_EQ(first(with_tlbs()), first(round_machine()) + kSecond + kDram);
}

TEST(TimedTlb, Rule4AStoreLeavesLaterByItsTranslation) {
  const auto store = [](const MachineDescription& machine) {
    TimedBench b(machine);
    double took = 0;
    b.on(0, [&] {
      b.store_latency(b.line(0));
      for (size_t page = 1; page <= 2; ++page) {
        b.touch(b.line(page * kLinesOfAPage + page));
      }
      b.m.work(1000);
      took = b.store_latency(b.line(0));
    });
    return took;
  };
  EXPECT_EQ(store(with_tlbs()), store(round_machine()) + kSecond);
}

TEST(TimedTlb, Rule5AnAtomicWaitsForItsTranslation) {
  const auto exchange = [](const MachineDescription& machine) {
    TimedBench b(machine);
    double took = 0;
    b.on(0, [&] {
      b.store_latency(b.line(0));
      for (size_t page = 1; page <= 2; ++page) {
        b.touch(b.line(page * kLinesOfAPage + page));
      }
      b.m.work(1000);
      took = b.cycles([&] { b.atomic(0).exchange(1); });
    });
    return took;
  };
  EXPECT_EQ(exchange(with_tlbs()), exchange(round_machine()) + kSecond);
}

TEST(TimedTlb, CountsHitsOfTheSecondLevelAndWalks) {
  TimedBench b(with_tlbs());
  b.on(0, [&] {
    for (int round = 0; round < 10; ++round) {
      for (size_t page = 0; page < 3; ++page) {
        b.touch(b.line(page * kLinesOfAPage));
      }
    }
  });
  EXPECT_EQ(b.m.statistics().page_walks, 3u);
  EXPECT_EQ(b.m.statistics().tlb_second, 27u);
}

}  // namespace
}  // namespace holdfast::tlb_test
