// SPDX-License-Identifier: Apache-2.0
// Does SSP survive every power failure, and do the variants by the letter of its text not?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::ssp_crash_test {
namespace {

/// A journal that is checkpointed often, and few second frames.
const Options kSmall = {{"journal", "1024"}, {"frames", "12"}};

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  return small_tables(options(machine, "ssp", more));
}

Options small_and(const Options& more) {
  Options all = kSmall;
  for (const auto& [name, value] : more) {
    all[name] = value;
  }
  return all;
}

/// Transactions that store to lines of several pages, or of one.
Program pages(size_t spread) {
  Program program;
  program.spread = spread;
  program.counts_losers = false;
  return program;
}

/// More pages than small TLBs have, and few of them in a transaction.
Program many_pages() {
  Program program = pages(32);
  program.most_lines = 3;
  return program;
}

TEST(SspCrash, EveryPowerFailureLeavesTheCommittedTransactions) {
  expect_durable(on(large_caches(), {{"frames", "16"}}), pages(16));
}

TEST(SspCrash, EveryPowerFailureOfTransactionsThatShareAPage) {
  expect_durable(on(tiny(), kSmall), pages(1));
}

// Pages leave the TLBs all the time, and are consolidated.
TEST(SspCrash, EveryPowerFailureWithSmallTlbs) {
  expect_durable(on(tiny(), small_and({{"tlb", "4"}})), many_pages());
}

// All second frames are in use, so pages give theirs up.
TEST(SspCrash, EveryPowerFailureWithFewFrames) {
  Program program = pages(16);
  program.most_lines = 3;
  expect_durable(on(tiny(), small_and({{"frames", "8"}})), program);
}

// Every power failure keeps lines that were stored to outside transactions and written back.
TEST(SspCrash, APowerFailureKeepsLinesThatWereStoredToOutside) {
  expect_outside_stores_kept(on(tiny(), kSmall));
}

// A transaction has more pages than the TLBs, and is aborted after some of its lines have gone to
// their other frames.
TEST(SspCrash, EveryPowerFailureWhileTransactionsAreTooLarge) {
  constexpr size_t kPages = 9;
  constexpr size_t kLines = kPageBytes / 64;
  const SimOptions o = on(tiny(), small_and({{"tlb", "4"}}));
  std::vector<std::pair<SimImage, uint64_t>> points;
  {
    DesignMachine m(o, {}, kPages * kPageBytes);
    uint64_t done = 0;
    m->before_persist_event([&](uint64_t) { points.emplace_back(m->earliest_image(), done); });
    const auto store = [&](size_t pages, uint64_t value) {
      m->tx_start();
      for (size_t i = 0; i < 2 * pages; ++i) {
        m.set(i / 2 * kLines + i % 2, value);
      }
      m->tx_commit();
    };
    m.run([&] {
      for (uint64_t n = 1; n <= 6; ++n) {
        store(2, n);
        m->fence();
        done = n;
        EXPECT_THROW(store(kPages, 100 + n), HtmAbort);
        EXPECT_EQ(m->tx_caught(), AbortCause::capacity);
      }
    });
    m->before_persist_event({});
  }
  EXPECT_GT(points.size(), 100u);
  for (const auto& [image, done] : points) {
    const DesignMachine m(o, image, kPages * kPageBytes);
    const uint64_t n = m.get(0);
    EXPECT_GE(n, done);
    EXPECT_LE(n, done + 1);
    for (size_t i = 0; i < 2 * kPages; ++i) {
      EXPECT_EQ(m.get(i / 2 * kLines + i % 2), i < 4 ? n : 0) << i;
    }
  }
}

// Transactions of 40 and of 3 lines of a page, which leaves the TLBs after each. So it is
// consolidated into its second frame, and into its home.
TEST(SspCrash, EveryPowerFailureOfConsolidationsIntoBothFrames) {
  constexpr size_t kPages = 9;
  constexpr size_t kMany = 40;
  constexpr size_t kFew = 3;
  const SimOptions o = on(tiny(), small_and({{"tlb", "4"}}));
  struct Promised {
    SimImage image;
    uint64_t many = 0;
    uint64_t few = 0;
  };
  std::vector<Promised> points;
  {
    DesignMachine m(o, {}, kPages * kPageBytes);
    Promised now;
    m->before_persist_event([&](uint64_t) {
      points.push_back(now);
      points.back().image = m->earliest_image();
    });
    const auto push_page_out = [&] {
      for (size_t page = 1; page < kPages; ++page) {
        m.get(page * kPageBytes / 64 + page % 8);
      }
      m->fence();
      m->work(20'000);
    };
    m.run([&] {
      for (uint64_t n = 1; n <= 4; ++n) {
        m.transaction(0, kMany, n);
        m->fence();
        now.many = n;
        push_page_out();
        m.transaction(50, kFew, n);
        m->fence();
        now.few = n;
        push_page_out();
      }
    });
    m->before_persist_event({});
    for (const DesignCoverageRow& row : m->design_coverage()) {
      if (row.name.starts_with("a page was consolidated")) {
        EXPECT_GT(row.count, 0u) << row.name;
      }
    }
  }
  EXPECT_GT(points.size(), 200u);
  for (size_t i = 0; i < points.size(); i += 3) {
    const Promised& point = points[i];
    const DesignMachine m(o, point.image, kPages * kPageBytes);
    const uint64_t many = m.get(0);
    const uint64_t few = m.get(50);
    EXPECT_TRUE(many == point.many || many == point.many + 1) << i;
    EXPECT_TRUE(few == point.few || few == point.few + 1) << i;
    for (size_t line = 0; line < 64; ++line) {
      const uint64_t expected = line < kMany ? many : line >= 50 && line < 50 + kFew ? few : 0;
      ASSERT_EQ(m.get(line), expected) << "event " << i << ", line " << line;
    }
  }
}

// ---- the text by the letter

TEST(SspCrash, ARecordThatDoesNotWaitForItsLinesIsFound) {
  EXPECT_GT(wrong_images(on(tiny(), {{"frames", "16"}, {"printed", "together"}}), pages(16)), 0u);
}

TEST(SspCrash, ARecordOfWhichRecoveryAppliesAPartIsFound) {
  Program program = pages(16);
  program.most_lines = 12;
  EXPECT_GT(wrong_images(on(tiny(), {{"frames", "16"}, {"printed", "pages"}}), program), 0u);
}

TEST(SspCrash, AConsolidationThatDoesNotWaitForItsCopiesIsFound) {
  const SimOptions o = on(tiny(), small_and({{"tlb", "4"}, {"printed", "release"}}));
  EXPECT_GT(wrong_images(o, many_pages()), 0u);
}

TEST(SspCrash, LongPowerFailures) {
  expect_durable(on(large_caches(), {{"frames", "16"}}), pages(16), false);
  expect_durable(on(tiny(), kSmall), pages(1), false);
}

}  // namespace
}  // namespace holdfast::design_test::ssp_crash_test
