// SPDX-License-Identifier: Apache-2.0
// Does a thread that waits for the lock show as waiting?
#include <gtest/gtest.h>

#include "tests/unit/engines/timeline_world.h"

namespace holdfast::timeline_test::undo_timeline_test {
namespace {

TEST(UndoTimeline, AThreadThatWaitsForTheLockIsSeenToWait) {
  World u(engine_rows_test::row_of("undo"), power9(2));
  u.run(2, [&](int worker) { u.heap.write(static_cast<size_t>(worker), 1); });
  const size_t waits = u.phases(kSlotOfWorker0, Phase::lock_wait).size() +
                       u.phases(kSlotOfWorker0 + 1, Phase::lock_wait).size();
  EXPECT_EQ(waits, 1u);
}

}  // namespace
}  // namespace holdfast::timeline_test::undo_timeline_test
