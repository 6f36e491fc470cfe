// SPDX-License-Identifier: Apache-2.0
// Does EHOU survive every power failure, without a lost block, and do sentences at their word not?
#include "tests/sanitized.h"
#include "tests/unit/hardware/ehou/ehou_fixture.h"

namespace holdfast::design_test::ehou_crash_test {
namespace {

SimOptions small(const Options& more) {
  return small_tables(ehou_on(tiny(), more));
}

constexpr Program kMany = {.most_lines = 12};

TEST(EhouCrash, EveryPowerFailureLeavesTheCommittedTransactions) {
  expect_durable(small(kRoomy));
}

TEST(EhouCrash, EveryPowerFailureWithAnOverflowLog) {
  expect_durable(small(kOverflowing), kMany);
}

TEST(EhouCrash, EveryPowerFailureWithEntriesThatTransactionsShare) {
  expect_durable(small(kShared), kMany);
}

TEST(EhouCrash, EveryPowerFailureWithEagerPersisting) {
  expect_durable(small(ehou_with(kRoomy, {{"policy", "eager"}})));
  expect_durable(small(ehou_with(kOverflowing, {{"policy", "eager"}})), kMany);
}

/// The number of images behind which a block is lost or used twice.
TEST(EhouCrash, EachBlockHasOneUseAfterEveryPowerFailure) {
  for (const Options& more : {kRoomy, kOverflowing, kShared}) {
    const SimOptions o = small(more);
    const std::vector<Moment> moments = Sweep(o, kMany).run();
    ASSERT_GT(moments.size(), 100u);
    for (size_t i = 0; i < moments.size(); i += 3 * kStep) {
      std::vector<SimImage> in_recovery;
      {
        DesignMachine m(o, moments[i].image, kSweepBytes, &in_recovery);
        expect_all_blocks_once(m, "event " + std::to_string(i));
      }
      for (const SimImage& image : in_recovery) {
        DesignMachine m(o, image, kSweepBytes);
        expect_all_blocks_once(m, "in the recovery behind event " + std::to_string(i));
      }
      if (testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

// ---- the text by the letter

TEST(EhouCrash, SentencesAtTheirWordLoseTransactions) {
  for (const char* printed : {"noflush", "states"}) {
    EXPECT_GT(wrong_images(small(ehou_with(kRoomy, {{"printed", printed}}))), 0u) << printed;
  }
  for (const char* printed : {"noflow", "early", "clear"}) {
    EXPECT_GT(wrong_images(small(ehou_with(kOverflowing, {{"printed", printed}})), kMany), 0u)
        << printed;
  }
}

// The reclaim list has the blocks of mappings that have committed until these are in the table.
TEST(EhouCrash, AReclaimListThatIsFreedAsAWholeUsesBlocksTwice) {
  const SimOptions o = small(ehou_with(kRoomy, {{"printed", "reclaim"}}));
  size_t doubled = 0;
  for (const Moment& moment : Sweep(o, {}).run()) {
    DesignMachine m(o, moment.image, kSweepBytes);
    const Ehou& design = ehou_of(m);
    for (const uint64_t block : design.free_blocks()) {
      for (uint64_t line = 0; line < kSweepBytes / 64; ++line) {
        doubled += design.block_of(line) == block ? 1 : 0;
      }
    }
  }
  EXPECT_GT(doubled, 0u);
}

TEST(EhouCrash, LongPowerFailures) {
  expect_durable(small(kRoomy), {}, false);
  expect_durable(small(kOverflowing), {.most_lines = 19}, false);
  expect_durable(small(kShared), {.most_lines = 19}, false);
  expect_durable(small(ehou_with(kShared, {{"policy", "eager"}})), {.most_lines = 19}, false);
}

}  // namespace
}  // namespace holdfast::design_test::ehou_crash_test
