// SPDX-License-Identifier: Apache-2.0
// Does a power failure without a design keep exactly what the caches have written back?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::opt_crash_test {
namespace {

TEST(SimDesignCrash, OptLosesWhatOnlyCachesHold) {
  SimImage image;
  {
    DesignMachine m(options(tiny(), "opt"));
    m.run([&] {
      m.transaction(0, 40, 1);
      m->fence();
    });
    image = m->earliest_image();
  }
  size_t kept = 0;
  for (size_t line = 0; line < 40; ++line) {
    kept += DesignMachine::in_image(image, line);
  }
  EXPECT_GT(kept, 20u) << "evicted";
  EXPECT_LT(kept, 40u) << "in caches";
  SimMachine again(options(tiny(), "opt"), image);
  again.power_on();
  EXPECT_FALSE(again.design_recovery().consistent);
  EXPECT_NE(again.design_recovery().text.find("undefined"), std::string::npos);
}

TEST(SimDesignCrash, OptKeepsAllThatWasStoredWhereCachesSurvive) {
  SimOptions o = options(tiny(), "opt");
  o.domain = Domain::eadr;
  size_t kept_before = 0;
  for (uint64_t event = 0; event < 90; ++event) {  // fails before a store, or before an eviction
    DesignMachine m(o);
    m->crash_at(m->persist_events() + event);
    m.run([&] {
      m.transaction(0, 60, 1);
      m->fence();
    });
    ASSERT_TRUE(m->crashed());
    const SimImage image = m->earliest_image();
    size_t kept = 0;
    for (size_t line = 0; line < 60; ++line) {
      kept += DesignMachine::in_image(image, line);
      ASSERT_EQ(DesignMachine::in_image(image, line), line < kept ? 1u : 0u) << "in order";
    }
    EXPECT_LE(kept_before, kept) << "event " << event << ": a line on its way out was lost";
    EXPECT_LT(kept, 60u) << "half a transaction";
    kept_before = kept;
  }
  EXPECT_GT(kept_before, 20u);
}

}  // namespace
}  // namespace holdfast::design_test::opt_crash_test
