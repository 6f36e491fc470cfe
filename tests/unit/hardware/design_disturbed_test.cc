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

/// A design without room for lines of transactions that the last level gives up.
class NoRoom final : public HardwareDesign {
 public:
  Time first_store(const DesignStore& store, Time now) override {
    context().set_flags(store.line.line, 1);
    return now;
  }
  Leaving leaving(const LineMove& move, Time now) override {
    if (move.from == Level::llc && move.dirty) {
      throw Error(Status(Code::out_of_space, "no room"));
    }
    return HardwareDesign::leaving(move, now);
  }
  Time recover(DesignRecovery&, Time now) override { return now; }
};

/// A transaction so large that lines leave the caches, at stores or at loads of other lines.
void overflow(DesignMachine& m, bool at_loads) {
  const size_t stored = at_loads ? 8 : 40;
  m->tx_start();
  for (size_t line = 0; line < stored; ++line) {
    m.set(line, 1);
  }
  m->fence();
  for (size_t line = stored; line < 80; ++line) {
    m.get(line);
  }
  m->tx_commit();
}

TEST(SimDesignDisturbed, TheMachineEndsWhenALineCannotLeaveTheCaches) {
  for (const bool at_loads : {false, true}) {
    DesignMachine m(options_for<NoRoom>(tiny(), Domain::pmem));
    EXPECT_THROW(m.run([&] { overflow(m, at_loads); }), Error) << at_loads;
    EXPECT_EQ(m->failure().code(), Code::out_of_space) << at_loads;
    EXPECT_THROW(m.run([&] { m.transaction(0, 1, 1); }), MediumFailure) << at_loads;
  }  // unmaps, and the caches still have those lines
}

// Destructors unmap, so it must not throw.
TEST(SimDesignDisturbed, TheMachineEndsWhenALineCannotLeaveTheCachesAtAnUnmapping) {
  DesignMachine m(options_for<NoRoom>(tiny(), Domain::pmem));
  std::byte* const more = [&] {
    m->medium().grow(DesignMachine::kBytes + kPageBytes).check();
    return m->medium().map(DesignMachine::kBytes, kPageBytes, nullptr, MapMode::shared).value();
  }();
  m.run([&] { m.transaction(0, 4, 1); });
  EXPECT_NO_THROW(m->medium().unmap(more, kPageBytes));
  EXPECT_EQ(m->failure().code(), Code::out_of_space);
}

}  // namespace
}  // namespace holdfast::design_test::design_disturbed_test
