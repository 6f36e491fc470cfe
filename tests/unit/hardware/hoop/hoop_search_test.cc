// SPDX-License-Identifier: Apache-2.0
// Does a crash search of HOOP find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_search.h"

namespace holdfast::design_test::hoop_search_test {
namespace {

/// The table is smaller than a transaction, the buffer and the log not much larger, and collections
/// are frequent.
const Json kSmall = {{"buffer", "256"}, {"table", "128"}, {"region", "4096"}, {"collect_us", "2"}};
const Json kMap = {
    {"workload", "map"},
    {"params", {{"structure", "btree"}, {"transactions", "6"}}},
    {"design_options",
     {{"buffer", "256"}, {"table", "256"}, {"region", "16384"}, {"collect_us", "2"}}}};

const DesignSearch kHoop("hoop", kSmall);

TEST(HoopSearch, FindsNothing) {
  kHoop.expect_clean({{"schedules", 10}});
  kHoop.expect_clean(joined({{"schedules", 3}}, kMap));
}

// No client of the search stores outside transactions to a line of the log. The test
// HoopCrash.APowerFailureKeepsLinesThatWereStoredToOutside does.
TEST(HoopSearch, CrashesFallBehindEverythingElse) {
  const Json never = {
      {"schedules", 4},
      {"design_options", {{"buffer", "128"}, {"region", "4096"}, {"collect_us", "1000000"}}},
      {"params", {{"transactions", "12"}}}};
  kHoop.expect_uncovered(Json::array({"a line stored to outside transactions was logged"}),
                         {{{"schedules", 4}}, never});
}

TEST(HoopSearch, MostMutantsOfOneScheduleAreCaught) {
  kHoop.expect_caught({{"mutants", 10}, {"schedules", 1}, {"params", {{"transactions", "4"}}}});
}

TEST(HoopSearch, LongMutants) {
  kHoop.expect_caught({{"mutants", 200}, {"schedules", 20}});
  kHoop.expect_caught(joined({{"mutants", 200}, {"schedules", 20}}, kMap));
}

TEST(HoopSearch, LongThousandSeeds) {
  kHoop.expect_clean({{"schedules", 1000}});
  kHoop.expect_clean(joined({{"schedules", 1000}}, kMap));
}

}  // namespace
}  // namespace holdfast::design_test::hoop_search_test
