// SPDX-License-Identifier: Apache-2.0
// Do threads of one core keep apart in the transaction cache that they share?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::tc_crash_test {
namespace {

// Two threads share each core and its TC, which has fewer entries than one of their transactions
// needs. Each thread uses its own lines, so no lock is needed.
TEST(SimDesignCrash, ThreadsOfOneCoreShareATc) {
  SimOptions o = options(tiny(), "tc", {{"bytes", "256"}});
  o.threads = 8;
  constexpr size_t kOwn = 5;
  constexpr uint64_t kLast = 6;
  uint64_t events = 0;
  uint64_t spills = 0;
  const auto run = [&](uint64_t event) {
    DesignMachine m(o);
    const uint64_t before = m->persist_events();
    if (event != kNever) {
      m->crash_at(before + event);
    }
    m->run_threads(8, [&](int worker) {
      for (uint64_t i = 1; i <= kLast; ++i) {
        m.transaction(kOwn * static_cast<size_t>(worker), kOwn, i);
      }
    });
    events = m->persist_events() - before;
    spills = m.count("spills");
    return m->earliest_image();
  };
  const auto expect_whole = [&](const SimImage& image, uint64_t least, uint64_t event) {
    const DesignMachine m(o, image);
    for (size_t worker = 0; worker < 8; ++worker) {
      const uint64_t first = m.get(kOwn * worker);
      EXPECT_GE(first, least);
      for (size_t line = 1; line < kOwn; ++line) {
        EXPECT_EQ(m.get(kOwn * worker + line), first) << "worker " << worker << " event " << event;
      }
    }
  };
  expect_whole(run(kNever), kLast, kNever);
  EXPECT_GT(spills, 8u);
  const uint64_t all = events;
  for (uint64_t event = 0; event < all; event += 7) {
    expect_whole(run(event), 0, event);
  }
}

}  // namespace
}  // namespace holdfast::design_test::tc_crash_test
