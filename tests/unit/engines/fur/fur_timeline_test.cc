// SPDX-License-Identifier: Apache-2.0
// Do FUR's waits last as long as its figures 3 and 5 say?
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/engines/timeline_world.h"

namespace holdfast::timeline_test::fur_timeline_test {
namespace {

using engine_rows_test::row_of;

// FUR, figure 3 (and 5): the writer may not show its data while somebody still reads the old.
TEST(FurTimeline, AWritersIsolationWaitLastsAsLongAsTheReaderExecutes) {
  World w(row_of("fur-opa"), power9(2));
  w.run(2, [&](int worker) {
    if (worker == 0) {
      w.machine.work(2000);
      w.heap.write(0, 1);
    } else {
      w.heap.engine().read([&] {
        w.heap.get(400);
        w.machine.work(100'000);
      });
    }
  });
  const auto waits = w.phases(kSlotOfWorker0, Phase::isolation_wait);
  const auto reads = w.phases(kSlotOfWorker0 + 1, Phase::execute);
  ASSERT_EQ(waits.size(), 1u);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_GT(length(waits[0]), 10 * kMicrosecond);
  EXPECT_GT(waits[0].begin, reads[0].begin);
  EXPECT_GE(waits[0].end, reads[0].end);
  EXPECT_LT(waits[0].end, reads[0].end + kMicrosecond);
}

// FUR, figure 5: who has read what is not durable yet returns when its writer's marker is.
TEST(FurTimeline, AReadersDurabilityWaitEndsAtTheWritersMarkerFlush) {
  World w(row_of("fur-opa"), power9(2));
  w.run(2, [&](int worker) {
    for (size_t i = 0; i < 500; ++i) {
      w.machine.work(i * 37 % 1000);  // so that they meet at every possible moment
      worker == 0 ? w.heap.write(0, i) : static_cast<void>(w.heap.read(400));
    }
  });
  const auto flushes = w.phases(kSlotOfWorker0, Phase::marker_flush);
  size_t waited = 0;
  for (const Slice& wait : w.phases(kSlotOfWorker0 + 1, Phase::durability_wait)) {
    if (length(wait) < kMicrosecond / 5) {
      continue;  // only the look at the states, which a miss or two may prolong
    }
    ++waited;
    const auto flush = std::find_if(flushes.begin(), flushes.end(), [&](const Slice& f) {
      return f.begin < wait.end && wait.end <= f.end + kMicrosecond && wait.begin < f.end;
    });
    EXPECT_NE(flush, flushes.end()) << "a wait from " << wait.begin << " to " << wait.end;
  }
  EXPECT_GT(waited, 0u);
}

}  // namespace
}  // namespace holdfast::timeline_test::fur_timeline_test
