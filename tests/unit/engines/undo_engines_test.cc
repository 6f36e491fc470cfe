// SPDX-License-Identifier: Apache-2.0
//
// Do the undo logs save, restore and cost what they should? tests/crash tests what survives.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/engines/pmdk_like/pmdk_like.h"
#include "holdfast/engines/undo/undo.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast {
namespace {

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);
/// The parts of an entry of libpmemobj's ulog beside the old bytes.
constexpr size_t kEntryHeader = 24;
constexpr size_t kEpochBytes = sizeof(uint64_t);

size_t lines(size_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes;
}

template <class E>
class OneHeap {
 public:
  explicit OneHeap(const Options& options = {}, const SimOptions& sim = {})
      : machine_(sim), heap_(machine_, {.options = options}) {
    heap_.format().check();
    heap_.recover().check();
  }

  EngineFixture<E>* operator->() { return &heap_; }
  SimMachine& machine() { return machine_; }

  PersistCounters cost(FunctionRef<void()> body) {
    const PersistCounters before = machine_.counters();
    heap_.engine().update(body);
    return machine_.counters() - before;
  }

 private:
  SimMachine machine_;
  EngineFixture<E> heap_;
};

using Pmdk = OneHeap<PmdkLike<SimMachine>>;
using Textbook = OneHeap<Undo<SimMachine>>;

// ---- pmdk-like: what an update costs

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

// ---- pmdk-like: who waits for whom

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

// ---- RangeSet

using pmdk_like::RangeSet;
using undo::Range;

TEST(RangeSet, AddsWhatIsMissingAsAModelDoes) {
  std::vector<std::byte> space(200);
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    RangeSet set;
    std::vector<bool> model(space.size(), false);
    for (int step = 0; step < 30; ++step) {
      const size_t at = random.below(space.size());
      const size_t n = random.below(std::min<size_t>(space.size() - at, 40)) + 1;
      const Range range{space.data() + at, n};
      bool covered = true;
      for (size_t i = at; i < at + n; ++i) {
        covered = covered && model[i];
      }
      ASSERT_EQ(set.covers(range), covered);
      size_t next = at;  // gaps come in order, and each as long as it can be
      set.add(range, [&](const Range& gap) {
        const auto begin = static_cast<size_t>(gap.begin - space.data());
        for (; next < begin; ++next) {
          ASSERT_TRUE(model[next]);
        }
        for (; next < begin + gap.bytes; ++next) {
          ASSERT_FALSE(model[next]);
        }
        ASSERT_LE(next, at + n);
        ASSERT_TRUE(next == at + n || model[next]);
      });
      for (; next < at + n; ++next) {
        ASSERT_TRUE(model[next]);
      }
      std::fill_n(model.begin() + static_cast<ptrdiff_t>(at), n, true);
      size_t seen = 0;
      set.for_each([&](const Range& part) {
        const auto begin = static_cast<size_t>(part.begin - space.data());
        for (; seen < begin; ++seen) {
          ASSERT_FALSE(model[seen]);
        }
        for (; seen < begin + part.bytes; ++seen) {
          ASSERT_TRUE(model[seen]);
        }
        ASSERT_TRUE(seen == space.size() || !model[seen]) << "neighbours are one range";
      });
    }
  }
}

TEST(RangeSet, AFailureLeavesItAsItWas) {
  std::vector<std::byte> space(64);
  RangeSet set;
  set.add({space.data() + 8, 8}, [](const Range&) {});
  const Range all{space.data(), 64};
  EXPECT_THROW(set.add(all, [](const Range&) { throw 1; }), int);
  EXPECT_FALSE(set.covers(all));
  EXPECT_TRUE(set.covers({space.data() + 8, 8}));
}

// ---- both

template <class H>
class UndoEngines : public testing::Test {};
using Both = testing::Types<Textbook, Pmdk>;
TYPED_TEST_SUITE(UndoEngines, Both);

TYPED_TEST(UndoEngines, AFullLogEndsTheTransactionOnly) {
  TypeParam heap(Options{{"log_bytes", "4032"}});
  heap->write(0, 1);
  const Statistics before = heap->engine().statistics();
  try {
    heap->engine().update([&] {
      for (size_t i = 0; i < heap->words(); i += 2) {
        heap->set(i, 5);
      }
    });
    FAIL() << "nothing bounds the log";
  } catch (const Error& e) {
    EXPECT_EQ(e.status().code(), Code::out_of_space);
    EXPECT_NE(e.status().message().find("log_bytes"), std::string::npos);
  }
  EXPECT_EQ((heap->engine().statistics() - before).user_aborts, 1u);
  EXPECT_EQ(heap->read(0), 1u);
  for (size_t i = 2; i < heap->words(); i += 2) {
    ASSERT_EQ(heap->read(i), 0u);
  }
  heap->write(2, 3);
  EXPECT_EQ(heap->read(2), 3u);
}

/// A trap: with the first record of a word undone first, a later one wins.
TYPED_TEST(UndoEngines, RollBackRestoresWhatWasThereAtFirst) {
  TypeParam heap;
  heap->write(3, 7);
  EXPECT_THROW(heap->engine().update([&] {
    for (uint64_t i = 0; i < 20; ++i) {
      heap->set(3, 100 + i);
      const uint64_t both[2] = {i, i};
      std::remove_reference_t<decltype(heap->engine())>::store_range(heap->word(2), both,
                                                                     sizeof both);
    }
    throw 1;
  }),
               int);
  EXPECT_EQ(heap->read(3), 7u);
  EXPECT_EQ(heap->read(2), 0u);
}

/// Power fails at each persist event in turn: before the commit's last fence the update has never
/// been, afterwards it stays.
TYPED_TEST(UndoEngines, EveryCrashGivesBeforeOrAfter) {
  std::map<uint64_t, int> found;
  for (uint64_t event = 0; event < 60; ++event) {
    SimImage image;
    {
      TypeParam heap;
      heap->write(0, 1);
      heap->write(40, 1);
      const uint64_t before = heap.machine().persist_events();
      heap.machine().before_persist_event([&](uint64_t now) {
        if (now == before + event) {
          image = heap.machine().surviving_image();
        }
      });
      heap.machine().run_threads(1, [&](int) {
        heap->engine().update([&] {
          heap->set(0, 2);
          heap->set(40, 2);
          heap->set(80, 2);
        });
      });
      heap.machine().before_persist_event({});
    }
    if (image.empty()) {
      break;
    }
    SimMachine after({}, image);
    EngineFixture<typename std::remove_reference_t<decltype(std::declval<TypeParam&>()->engine())>>
        again(after);
    again.recover().check();
    const uint64_t value = again.read(0);
    EXPECT_EQ(again.read(40), value);
    EXPECT_EQ(again.read(80), value == 2 ? 2u : 0u);
    again.write(80, 5);
    EXPECT_EQ(again.read(80), 5u);
    ++found[value];
  }
  EXPECT_GT(found[1], 5);
}

}  // namespace
}  // namespace holdfast
