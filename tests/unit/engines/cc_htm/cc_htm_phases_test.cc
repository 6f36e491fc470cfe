// SPDX-License-Identifier: Apache-2.0
// Is the time of a fence, and of a pause after an abort, counted as what it is, and is there such a
// pause? (checks.toml has the phases of updates and reads.)
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

/// Conflicts with one transaction, of one kind or the other, several times. A pause grows with the
/// attempts; the way to the next attempt takes the same time after each.
TEST(CcHtmPhases, APauseIsLongerAfterEachAbort) {
  constexpr int kAborts = 8;
  for (const bool update : {false, true}) {
    World w = world({{"lag", "8"}});
    int turn = 0;  // odd: the other thread's
    const auto body = [&] {
      w.heap.get(3);
      if (turn < 2 * kAborts) {
        ++turn;
        while (turn % 2 == 1) {
          w.machine.pause();
        }
        w.heap.get(3);
      }
    };
    w.run(2, [&](int worker) {
      if (worker == 0 && update) {
        w.heap.engine().update(body);
      } else if (worker == 0) {
        w.heap.engine().read(body);
      } else {
        for (uint64_t value = 1; value <= kAborts; ++value) {
          while (turn % 2 == 0) {
            w.machine.pause();
          }
          w.heap.engine().update([&] { w.heap.set(3, value); });
          ++turn;
        }
      }
    });
    const std::vector<Slice> pauses = w.phases(kSlotOfWorker0, Phase::back_off);
    ASSERT_EQ(pauses.size(), static_cast<size_t>(kAborts));
    const auto [shortest, longest] =
        std::minmax_element(pauses.begin(), pauses.end(),
                            [](const Slice& a, const Slice& b) { return length(a) < length(b); });
    EXPECT_GT(length(*longest), length(*shortest) + kMicrosecond / 3);
  }
}

}  // namespace
}  // namespace holdfast::timeline_test::cc_htm_phases_test
