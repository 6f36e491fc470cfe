// SPDX-License-Identifier: Apache-2.0
// Does every power failure leave the end of an epoch that PiCL promises, and do its variants by the
// letter, and with a bug, not?
#include <gtest/gtest.h>

#include "holdfast/hardware/picl/picl.h"
#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::picl_crash_test {
namespace {

/// Short epochs and a small buffer: a sweep persists several epochs.
const Options kSmall = {{"epoch_instructions", "40"}, {"entries", "4"}, {"gap", "1"}};

SimOptions on(const MachineDescription& machine, const Options& more = {}) {
  Options all = more;
  all.insert(kSmall.begin(), kSmall.end());
  return small_tables(options(machine, "picl", all));
}

/// Every power failure of a run and of its recovery, without disturbances and with some.
void expect_epochs(SimOptions o, Program program = {}) {
  program.transactions = 20;
  program.recoveries = 8;
  program.step = kStep;
  const Verdict plain = sweep(o, program);
  EXPECT_EQ(plain.wrong, 0u) << plain.why;
  EXPECT_GT(plain.images, 50 / kStep);
  EXPECT_GT(plain.recovery_images, 0u);
  EXPECT_GE(plain.epochs, 5u);
  program.transactions = 6;
  program.recoveries = 32;
  for (o.disturb = 1; o.disturb <= 20 / kShare; ++o.disturb) {
    const Verdict verdict = sweep(o, program);
    EXPECT_EQ(verdict.wrong, 0u) << "seed " << o.disturb << ", " << verdict.why;
  }
}

TEST(PiclCrash, EveryPowerFailureLeavesTheEndOfAnEpoch) {
  expect_epochs(on(tiny()));
}

TEST(PiclCrash, EveryPowerFailureWithALargerGapAndOneBuffer) {
  expect_epochs(on(tiny(), {{"gap", "3"}, {"buffers", "1"}}));
}

TEST(PiclCrash, EveryPowerFailureOfLargeTransactions) {
  expect_epochs(on(tiny(), {{"epoch_instructions", "120"}}), {.most_lines = 19});
}

TEST(PiclCrash, LongPowerFailures) {
  for (const char* gap : {"1", "2", "3", "12"}) {
    SimOptions o = on(tiny(), {{"gap", gap}});
    const Program program{.transactions = 20, .most_lines = 12, .recoveries = 16};
    for (o.disturb = 0; o.disturb <= 5; ++o.disturb) {
      const Verdict verdict = sweep(o, program);
      EXPECT_EQ(verdict.wrong, 0u) << "seed " << o.disturb << ", " << verdict.why;
    }
  }
}

// ---- canaries of the judge

/// PiCL with a change to one hook.
template <class D>
SimOptions with_bug() {
  SimOptions o = on(tiny());
  o.make_design = [] {
    return std::make_unique<D>(PiclOptions{.epoch_instructions = 40, .gap = 2, .entries = 4});
  };
  return o;
}

/// Persists one epoch less than it promises.
class OneEpochTooFew final : public Picl {
 public:
  using Picl::Picl;
  std::optional<uint64_t> epochs_behind() const override { return *Picl::epochs_behind() - 1; }
};

/// Lets lines go home before their entries are in the log: what is found ends no epoch.
class HomeBeforeTheLog final : public Picl {
 public:
  using Picl::Picl;
  MemoryWrite memory_write(const LineMove& /*move*/, Time now) override { return {true, now}; }
};

/// Does not log what a transaction stores to again after an epoch.
class LogsOnce final : public Picl {
 public:
  using Picl::Picl;
  Time first_store(const DesignStore& store, Time now) override {
    return store.flags != 0 ? now : Picl::first_store(store, now);
  }
};

TEST(PiclCrash, ASoundDesignWithTheSameSizesIsSound) {
  EXPECT_EQ(wrong_images(with_bug<Picl>()), 0u);
}

TEST(PiclCrash, TheJudgeFindsADesignThatPersistsOneEpochTooFew) {
  EXPECT_GT(wrong_images(with_bug<OneEpochTooFew>()), 0u);
}

TEST(PiclCrash, TheJudgeFindsADesignThatRecoversToNoEpoch) {
  EXPECT_GT(wrong_images(with_bug<HomeBeforeTheLog>()), 0u);
  EXPECT_GT(wrong_images(with_bug<LogsOnce>()), 0u);
}

// ---- the text by the letter

TEST(PiclCrash, AnEpochThatEndsInsideATransactionIsFound) {
  EXPECT_GT(wrong_images(on(tiny(), {{"printed", "anywhere"}})), 0u);
}

TEST(PiclCrash, ABlockThatIsThereBeforeItsLinesIsFound) {
  EXPECT_GT(wrong_images(on(tiny(), {{"printed", "burst"}})), 0u);
}

}  // namespace
}  // namespace holdfast::design_test::picl_crash_test
