// SPDX-License-Identifier: Apache-2.0
// Does an update cost what the page says, and do its locks let readers and writers in as asked?
#include "holdfast/engines/pmdk_like/pmdk_like.h"

#include <gtest/gtest.h>

#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/undo/one_heap.h"

namespace holdfast::pmdk_like_test {
namespace {

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);
/// The parts of an entry of libpmemobj's ulog beside the old bytes.
constexpr size_t kEntryHeader = 24;
constexpr size_t kEpochBytes = sizeof(uint64_t);

size_t lines(size_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes;
}

using Pmdk = undo_suite::OneHeap<PmdkLike<SimMachine>>;

/// Romulus (SPAA 2018), Table 1 and section 2: whole ranges are logged, so it is their number that
/// counts; two fences for each, and two for the commit.
TEST(PmdkLike, TwoFencesAndTwoPerRange) {
  Pmdk heap;
  for (const size_t ranges : {1u, 2u, 7u, 100u}) {
    const auto cost = heap.cost([&] {
      for (size_t i = 0; i < ranges; ++i) {
        heap->set(2 * i, i);  // neighbours are not stored to
      }
    });
    EXPECT_EQ(cost.pfence + cost.psync, 2 + 2 * ranges) << ranges;
    EXPECT_EQ(cost.psync, 1u);
  }
}

TEST(PmdkLike, AnEntryIsALineAndTheCountAWriteBack) {
  Pmdk heap;
  for (const size_t ranges : {1u, 5u, 40u}) {
    const auto cost = heap.cost([&] {
      for (size_t i = 0; i < ranges; ++i) {
        heap->set(kLineWords * i, i);
      }
    });
    EXPECT_EQ(cost.nontemporal, ranges) << "a word and the header fit into a line";
    EXPECT_EQ(cost.pwb, 2 * ranges + 1) << "counts, changed lines, and the generation";
    EXPECT_EQ(cost.bytes, ranges * (kLineBytes + 2 * sizeof(uint64_t)) + kEpochBytes);
  }
}

TEST(PmdkLike, ALongRangeCostsTwoFences) {
  Pmdk heap;
  const std::vector<std::byte> block(1000);
  const auto cost = heap.cost(
      [&] { PmdkLike<SimMachine>::store_range(heap->word(3), block.data(), block.size()); });
  EXPECT_EQ(cost.pfence + cost.psync, 4u);
  EXPECT_EQ(cost.nontemporal, lines(kEntryHeader + block.size()));
  EXPECT_EQ(cost.pwb, lines(3 * sizeof(uint64_t) + block.size()) + 2);
}

TEST(PmdkLike, WhatIsSavedIsNotSavedAgain) {
  Pmdk heap;
  const std::vector<std::byte> block(20 * sizeof(uint64_t));
  const auto cost = heap.cost([&] {
    heap->set(4, 1);
    heap->set(4, 2);
    heap->set(5, 3);  // its neighbour
    PmdkLike<SimMachine>::store_range(heap->word(2), block.data(), 8 * sizeof(uint64_t));
    heap->set(9, 4);
    heap->set(2, 4);
  });
  // Word 4, word 5, and the two gaps before and behind them.
  EXPECT_EQ(cost.pfence + cost.psync, 2u + 2 * 4);
  EXPECT_EQ(cost.pwb, 4u + 2 + 1) << "counts; each line once";
}

TEST(PmdkLike, WithChecksumsAloneAFenceLessPerRange) {
  Pmdk heap(Options{{"checksums", "1"}});
  const auto cost = heap.cost([&] {
    heap->set(0, 1);
    heap->set(100, 1);
    heap->set(200, 1);
  });
  EXPECT_EQ(cost.pfence + cost.psync, 2u + 3);
  EXPECT_EQ(cost.nontemporal, 3u);
  EXPECT_EQ(cost.pwb, 3u + 1);
}

TEST(PmdkLike, WiderRangesAreFewer) {
  Pmdk heap(Options{{"snapshot_bytes", "64"}});
  const auto cost = heap.cost([&] {
    for (size_t i = 0; i < 4 * kLineWords; i += 2) {
      heap->set(i, i);
    }
  });
  EXPECT_EQ(cost.pfence + cost.psync, 2u + 2 * 4);
  EXPECT_EQ(cost.nontemporal, 4 * lines(kEntryHeader + kLineBytes));
  EXPECT_EQ(cost.pwb, 4u + 4 + 1);
}

TEST(PmdkLike, NewBlocksNeedNoEntries) {
  Pmdk heap;
  const auto cost = heap.cost([&] {
    PmdkLike<SimMachine>::fresh(heap->word(16), 16 * sizeof(uint64_t));
    heap->set(16, 1);
    heap->set(31, 1);
    heap->set(32, 1);  // behind it
  });
  EXPECT_EQ(cost.pfence + cost.psync, 2u + 2);
  EXPECT_EQ(cost.pwb, 1u + 3 + 1);
}

TEST(PmdkLike, BlocksFreedByTheSameTransactionAreNotNew) {
  Pmdk heap;
  heap->write(16, 7);
  EXPECT_THROW(heap->engine().update([&] {
    PmdkLike<SimMachine>::released(heap->word(16), 64);
    PmdkLike<SimMachine>::fresh(heap->word(16), 64);
    heap->set(16, 8);
    throw 1;
  }),
               int);
  EXPECT_EQ(heap->read(16), 7u);
}

TEST(PmdkLike, ReadersAndEmptyUpdatesPersistNothing) {
  Pmdk heap;
  heap->write(5, 1);
  const auto before = heap.machine().counters();
  EXPECT_EQ(heap->read(5), 1u);
  heap->engine().update([&] { static_cast<void>(heap->get(5)); });
  const auto c = heap.machine().counters() - before;
  EXPECT_EQ(c.pwb + c.pfence + c.psync + c.nontemporal + c.bytes, 0u);
}

TEST(PmdkLike, StatisticsCountAllThatIsWritten) {
  Pmdk heap;
  const auto before = heap->engine().statistics();
  const auto cost = heap.cost([&] {
    heap->set(0, 1);
    heap->set(0, 2);
    heap->set(50, 1);
  });
  const auto counted = heap->engine().statistics() - before;
  EXPECT_EQ(counted.bytes_stored, 3 * sizeof(uint64_t));
  EXPECT_EQ(counted.bytes_written, cost.bytes);
}

TEST(PmdkLike, RefusesOptionsThatMakeNoSense) {
  for (const char* unit : {"0", "3", "8192", "x"}) {
    EXPECT_FALSE(pmdk_like::area_bytes({{"snapshot_bytes", unit}}, 1).ok()) << unit;
  }
  EXPECT_FALSE(pmdk_like::area_bytes({{"checksums", "2"}}, 1).ok());
  EXPECT_FALSE(pmdk_like::area_bytes({{"readers_first", "2"}}, 1).ok());
  EXPECT_FALSE(pmdk_like::area_bytes({{"log_bytes", "1"}}, 1).ok());
  EXPECT_EQ(pmdk_like::area_bytes({{"snapshot_bytes", "256"}, {"log_bytes", "4096"}}, 1).value(),
            4096 + kLineBytes);
}

const Options kWritersFirst = {};
const Options kReadersFirst = {{"readers_first", "1"}};

class PmdkLikeLocks : public ::testing::TestWithParam<Options> {};
INSTANTIATE_TEST_SUITE_P(Both, PmdkLikeLocks, ::testing::Values(kWritersFirst, kReadersFirst));

/// Each reader waits until all are inside: readers must run beside each other.
TEST_P(PmdkLikeLocks, ReadersRunBesideEachOther) {
  constexpr int kReaders = 3;
  SimOptions sim;
  sim.threads = kReaders;
  for (sim.seed = 1; sim.seed <= 20; ++sim.seed) {
    Pmdk heap(GetParam(), sim);
    auto* inside = make_array<SimMachine::Atomic<uint64_t>>(heap.machine(), 1);
    heap.machine().run_threads(kReaders, [&](int) {
      heap->engine().read([&] {
        inside->fetch_add(1);
        for (uint64_t seen = inside->load(); seen < kReaders; seen = inside->load()) {
          heap.machine().wait_while(*inside, seen);
        }
      });
    });
  }
}

TEST_P(PmdkLikeLocks, AReaderNeverSeesHalfAnUpdate) {
  SimOptions sim;
  sim.threads = 4;
  for (sim.seed = 1; sim.seed <= 40; ++sim.seed) {
    Pmdk heap(GetParam(), sim);
    heap.machine().run_threads(4, [&](int worker) {
      for (int i = 0; i < 6; ++i) {
        if (worker < 2) {
          heap->engine().update([&] {
            heap->set(0, heap->get(0) + 1);
            heap->set(100, heap->get(100) + 1);
          });
        } else {
          heap->engine().read([&] { EXPECT_EQ(heap->get(0), heap->get(100)) << sim.seed; });
        }
      }
    });
    EXPECT_EQ(heap->read(0), 12u);
  }
}

/// One of two readers is always inside: each leaves when the other has entered once more. How many
/// of their 40 turns were over when the writer got in.
uint64_t turns_before_the_writer(const Options& options, uint64_t seed) {
  using Word = SimMachine::Atomic<uint64_t>;
  SimOptions sim;
  sim.threads = 3;
  sim.seed = seed;
  Pmdk heap(options, sim);
  auto* entered = make_array<Word>(heap.machine(), 2);
  auto* written = make_array<Word>(heap.machine(), 1);
  uint64_t turns = 0;
  heap.machine().run_threads(3, [&](int worker) {
    if (worker == 2) {
      heap.machine().wait_while(entered[0], uint64_t{0});
      heap->engine().update([&] { turns = entered[0].load(); });
      written->store(1);
      return;
    }
    for (uint64_t turn = 1; turn <= 40; ++turn) {
      heap->engine().read([&] {
        entered[worker].fetch_add(1);
        // A lock that prefers writers keeps the other one out now.
        for (int patience = 200; patience > 0 && entered[1 - worker].load() < turn; --patience) {
          heap.machine().pause();
        }
      });
    }
  });
  EXPECT_EQ(written->load(), 1u);
  return turns;
}

TEST(PmdkLike, OnlyReadersFirstKeepsAWriterOut) {
  uint64_t soon = 0;
  uint64_t late = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    soon += turns_before_the_writer(kWritersFirst, seed);
    late += turns_before_the_writer(kReadersFirst, seed);
  }
  EXPECT_LT(soon / 20, 10u) << "of 40 turns";
  EXPECT_GT(late / 20, 30u);
}

}  // namespace
}  // namespace holdfast::pmdk_like_test
