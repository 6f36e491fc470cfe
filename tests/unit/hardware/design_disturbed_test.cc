// SPDX-License-Identifier: Apache-2.0
// Do forced evictions, late writes and lost stores show what they should, and nothing else?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::design_disturbed_test {
namespace {

// A disturbance may take a line from L1 just before its store. The line comes back first, so that
// the design learns of the store with the line there.
TEST(SimDesignDisturbed, LosesNoStores) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimOptions o = options(tiny(), durable_design());
    o.disturb = seed;
    DesignMachine m(o);
    constexpr size_t kOwn = 5;
    m->run_threads(3, [&](int worker) {
      const size_t first = kOwn * static_cast<size_t>(worker);
      for (uint64_t i = 1; i <= 8; ++i) {
        m.transaction(first, kOwn, i);
        for (size_t line = first; line < first + kOwn; ++line) {
          EXPECT_EQ(m.get(line), i) << "seed " << seed;
        }
      }
    });
    EXPECT_FALSE(m->failed()) << m->failure().to_string();
  }
}

TEST(SimDesignDisturbed, EqualSeedsGiveEqualRunsAndOthersDiffer) {
  const auto run = [](uint64_t seed) {
    SimOptions o = options(tiny(), durable_design());
    o.disturb = seed;
    DesignMachine m(o);
    m.run([&] {
      for (uint64_t i = 1; i <= 8; ++i) {
        m.transaction(0, 5, i);
      }
    });
    return std::pair(m->statistics().medium_writes, m->earliest_image());
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(0).first, run(3).first);
}

// The machine ends at the first lost store: whatever follows is of no use.
TEST(SimDesignDisturbed, TheMachineEndsWhenTheDesignHasLostStores) {
  SimOptions o = options(tiny(), durable_design());
  o.design_fault = DesignFault{DesignChange::home_write, FaultKind::drop, 0};
  DesignMachine m(o);
  m.run([&] { m.transaction(0, 40, 1); });
  m.settle();
  const auto run = [&] {
    m.run([&] {
      for (size_t line = 0; line < 40; ++line) {
        m.get(line);
      }
    });
  };
  EXPECT_THROW(run(), Error);
  EXPECT_TRUE(m->failed());
  EXPECT_EQ(m->failure().code(), Code::corrupt);
  EXPECT_FALSE(m->crashed());
}

}  // namespace
}  // namespace holdfast::design_test::design_disturbed_test
