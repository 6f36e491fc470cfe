// SPDX-License-Identifier: Apache-2.0
// Is the time of FUR's rarer paths counted as what it is? (checks.toml has the usual ones.)
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/engines/timeline_world.h"

namespace holdfast::timeline_test::fur_phases_test {
namespace {

using Phases = std::vector<Phase>;

constexpr const char* kEngines[] = {"fur-opa", "fur-si"};

World world(const char* engine, const char* retries, const SimOptions& options = power9(2)) {
  const auto& row = engine_rows_test::row_of(engine);
  return World(row, options,
               with_tiny(*row.description, {{"background", "0"}, {"retries", retries}}));
}

/// The phases of an update with this body, whose exception is swallowed.
template <class Body>
Phases phases_of(const char* engine, const char* retries, Body&& body) {
  World w = world(engine, retries);
  w.run(1, [&](int) {
    try {
      w.heap.engine().update([&] { body(w.heap); });
    } catch (const engine_rows_test::BodyFails&) {
    }
  });
  return w.order(kSlotOfWorker0);
}

TEST(FurPhases, AnUpdateThatStoresNothingWaitsForWhatItHasRead) {
  const auto body = [](auto& heap) { static_cast<void>(heap.get(3)); };
  for (const char* engine : kEngines) {
    EXPECT_EQ(phases_of(engine, "10", body),
              (Phases{Phase::execute, Phase::commit, Phase::durability_wait}));
    EXPECT_EQ(phases_of(engine, "0", body),
              (Phases{Phase::execute, Phase::lock_wait, Phase::isolation_wait, Phase::execute,
                      Phase::durability_wait}));
  }
}

TEST(FurPhases, AnUpdateThatThrowsWaitsForWhatItHasRead) {
  const auto body = [](auto& heap) {
    heap.set(3, 7);
    throw engine_rows_test::BodyFails();
  };
  for (const char* engine : kEngines) {
    EXPECT_EQ(phases_of(engine, "10", body), (Phases{Phase::execute, Phase::durability_wait}));
    EXPECT_EQ(phases_of(engine, "0", body),
              (Phases{Phase::execute, Phase::lock_wait, Phase::isolation_wait, Phase::execute,
                      Phase::roll_back, Phase::durability_wait}));
  }
}

/// Transactions in hardware that are too large: a pause follows each, and pauses grow.
TEST(FurPhases, AnUpdateBacksOffAfterEachAbort) {
  constexpr size_t kAborts = 8;
  for (const char* engine : kEngines) {
    SimOptions options = power9(2);
    MachineDescription small = *options.machine;
    small.htm.store_lines = 2;
    options.machine = std::make_shared<MachineDescription>(small);
    World w = world(engine, "8", options);
    w.run(1, [&](int) {
      w.heap.engine().update([&] {
        for (size_t line = 0; line < 4; ++line) {
          w.heap.set(16 * line, 7);
        }
      });
    });
    const Phases order = w.order(kSlotOfWorker0);
    size_t left = kAborts;
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] == Phase::back_off) {
        EXPECT_EQ(order.at(i - 1), Phase::aborted);
        EXPECT_EQ(order.at(i + 1), --left > 0 ? Phase::execute : Phase::lock_wait);
      }
    }
    const std::vector<Slice> pauses = w.phases(kSlotOfWorker0, Phase::back_off);
    ASSERT_EQ(pauses.size(), kAborts);
    const auto [shortest, longest] =
        std::minmax_element(pauses.begin(), pauses.end(),
                            [](const Slice& a, const Slice& b) { return length(a) < length(b); });
    EXPECT_GT(length(*longest), length(*shortest) + kMicrosecond / 3);
  }
}

}  // namespace
}  // namespace holdfast::timeline_test::fur_phases_test
