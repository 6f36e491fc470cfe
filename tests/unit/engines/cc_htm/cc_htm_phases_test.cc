// SPDX-License-Identifier: Apache-2.0
// Is the time of a fence, and of a pause after an abort, counted as what it is? (checks.toml has
// the phases of updates and reads.)
#include <gtest/gtest.h>

#include "tests/unit/engines/timeline_world.h"

namespace holdfast::timeline_test::cc_htm_phases_test {
namespace {

World world(const Options& options) {
  const auto& row = engine_rows_test::row_of("cc-htm");
  return World(row, power9(3), with_tiny(*row.description, options));
}

TEST(CcHtmPhases, AFenceWaitsForDurability) {
  World w = world({{"lag", "8"}});
  w.run(1, [&](int) {
    w.heap.engine().update([&] { w.heap.set(3, 7); });
    EXPECT_TRUE(w.phases(kSlotOfWorker0, Phase::durability_wait).empty()) << "it lags";
    w.heap.engine().fence();
  });
  EXPECT_EQ(w.phases(kSlotOfWorker0, Phase::durability_wait).size(), 1u);
  EXPECT_EQ(w.order(kSlotOfWorker0).back(), Phase::durability_wait);
}

TEST(CcHtmPhases, AnUpdateBacksOffAfterAnAbort) {
  World w = world({{"lag", "8"}, {"alias_bytes", "64"}, {"ways", "1"}});
  w.run(1, [&](int) {
    for (size_t word = 0; word < 8; ++word) {
      w.heap.engine().update([&] { w.heap.set(word, 7); });
    }
  });
  const Statistics s = w.heap.engine().statistics();
  const uint64_t aborts = s.explicit_aborts[static_cast<size_t>(AbortCode::alias)];
  EXPECT_GT(aborts, 0u);
  EXPECT_EQ(w.phases(kSlotOfWorker0, Phase::back_off).size(), aborts);
}

}  // namespace
}  // namespace holdfast::timeline_test::cc_htm_phases_test
