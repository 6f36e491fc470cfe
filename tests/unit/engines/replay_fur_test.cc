// SPDX-License-Identifier: Apache-2.0
// Do engines with durability markers replay their logs alone as replay_alone.h asks? Do others say
// that they cannot?
#include "holdfast/engines/fur/fur.h"
#include "holdfast/engines/fur_mv/fur_mv.h"
#include "tests/unit/engines/engine_rows.h"
#include "tests/unit/engines/replay_alone.h"

namespace holdfast::replay_test {
namespace {

using Engines = testing::Types<FurOpa<SimMachine>, FurSi<SimMachine>, FurMv<SimMachine>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Fur, ReplayAlone, Engines);

TEST(ReplayTable, EnginesWithoutSuchALogSaySo) {
  for (const auto& row : engine_rows<SimMachine>()) {
    const std::string name = row.description->name;
    const bool expected = name.starts_with("fur") || name.starts_with("spht") || name == "nv-htm";
    EXPECT_EQ(row.replays, expected) << name;
  }
  SimMachine machine;
  engine_rows_test::RowHeap heap(machine, engine_rows_test::row_of("undo"), {});
  const auto report = heap.engine().replay({});
  EXPECT_EQ(report.status().code(), Code::unsupported);
  EXPECT_NE(report.status().message().find("engine undo"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::replay_test
