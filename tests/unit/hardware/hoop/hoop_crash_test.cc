// SPDX-License-Identifier: Apache-2.0
// Does HOOP survive every power failure, and do the variants by the letter of its text not?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test {
namespace {

/// Small buffers, so that transactions are larger than the OOP buffer, the table fills, the log
/// wraps around and collections are frequent.
const Options kSmall = {
    {"buffer", "256"}, {"table", "128"}, {"region", "4096"}, {"collect_us", "2"}};

/// Room for all lines of a sweep: nothing is evicted.
MachineDescription large_caches() {
  MachineDescription m = tiny();
  m.l1.bytes = m.l2.bytes = m.llc.bytes = 16 << 10;
  return m;
}

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  return small_tables(options(machine, "hoop", more));
}

Options small_and(const Options& more) {
  Options all = kSmall;
  for (const auto& [name, value] : more) {
    all[name] = value;
  }
  return all;
}

TEST(HoopCrash, EveryPowerFailureLeavesTheCommittedTransactions) {
  expect_durable(on(large_caches()));
}

TEST(HoopCrash, EveryPowerFailureWithSmallBuffersAndManyCollections) {
  expect_durable(on(tiny(), kSmall));
}

TEST(HoopCrash, EveryPowerFailureWhileCollectionsLetStoresPass) {
  expect_durable(on(tiny(), small_and({{"collect_blocks", "0"}, {"collect_lines", "1"}})));
}

// A transaction stores up to 36 words, which are more than the buffer has places, to up to 20
// lines, which are more than the table has entries.
TEST(HoopCrash, EveryPowerFailureOfTransactionsLargerThanBufferAndTable) {
  Program program;
  program.most_lines = 19;
  expect_durable(on(tiny(), kSmall), program);
}

// Two threads share a core and its buffer, which has room for one slice. So each writes the other's
// slices before they are full.
TEST(HoopCrash, EveryPowerFailureWhileTwoThreadsShareABuffer) {
  MachineDescription one_core = tiny();
  one_core.cores = 1;
  SimOptions o = on(one_core, small_and({{"buffer", "128"}}));
  o.threads = 2;
  expect_durable(o);
}

// Stores outside transactions, each protected by a pwb and a psync, beside words of the log. Every
// power failure keeps those that were, and the transactions that had committed.
TEST(HoopCrash, APowerFailureKeepsLinesThatWereStoredToOutside) {
  constexpr size_t kLines = 6;
  for (const uint64_t disturb : {0u, 1u, 2u, 3u}) {
    SimOptions o = on(tiny(), small_and({{"region", "8192"}}));
    o.disturb = disturb;
    struct Promised {
      SimImage image;
      uint64_t transactions = 0;
      std::array<uint64_t, kLines> outside{};  ///< by line
    };
    std::vector<Promised> points;
    Promised now;
    size_t behind = 0;
    {
      DesignMachine m(o, {}, kSweepBytes);
      m->before_persist_event([&](uint64_t) {
        points.push_back(now);
        points.back().image = m->earliest_image();
        behind += m.count("outside") > 0 ? 1 : 0;
      });
      m.run([&] {
        for (uint64_t n = 1; n <= 10; ++n) {
          m.transaction(0, kLines, n);
          m->fence();
          now.transactions = n;
          const size_t line = n % kLines;
          m.set(line, n, 3);
          m->pwb(m.word(line, 3));
          m->psync();
          now.outside[line] = n;
        }
      });
      m->before_persist_event({});
    }
    EXPECT_GT(behind, 20u);
    for (const Promised& point : points) {
      const DesignMachine m(o, point.image, kSweepBytes);
      const uint64_t n = m.get(0);
      EXPECT_GE(n, point.transactions);
      for (size_t line = 0; line < kLines; ++line) {
        EXPECT_EQ(m.get(line), n);
        EXPECT_GE(m.get(line, 3), point.outside[line]) << line;
      }
    }
  }
}

// ---- the text by the letter

TEST(HoopCrash, ARecordThatDoesNotWaitForItsSlicesIsFound) {
  EXPECT_GT(wrong_images(on(tiny(), {{"printed", "together"}})), 0u);
}

TEST(HoopCrash, ATailThatMovesBeforeLinesAreHomeIsFound) {
  EXPECT_GT(wrong_images(on(tiny(), small_and({{"printed", "release"}}))), 0u);
}

TEST(HoopCrash, LongPowerFailures) {
  expect_durable(on(large_caches()), {}, false);
  expect_durable(on(tiny(), kSmall), {}, false);
  expect_durable(on(tiny(), small_and({{"collect_blocks", "0"}})), {}, false);
}

}  // namespace
}  // namespace holdfast::design_test
