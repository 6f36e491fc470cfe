// SPDX-License-Identifier: Apache-2.0
// Does a crash search of Hercules find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_search.h"

namespace holdfast::design_test::hercules_search_test {
namespace {

const Json kFew = {{"ewpq", "2"}, {"migrate", "3000"}, {"collect", "32"}, {"small_l1", "0"}};
/// Transactions of several lines, more than the caches have room for.
const Json kLong = {{"transactions", "4"}, {"registers", "24"}, {"writes", "12"}};
const Json kTree = {{"structure", "btree"}, {"transactions", "6"}};

const DesignSearch kHercules("hercules", kFew);

TEST(HerculesSearch, FindsNothing) {
  kHercules.expect_clean({{"schedules", 20}});
  kHercules.expect_clean({{"schedules", 10}, {"params", kLong}});
  kHercules.expect_clean({{"schedules", 10}, {"workload", "map"}, {"params", kTree}});
}

TEST(HerculesSearch, CrashesFallBehindEveryTransition) {
  Json longer = kLong;
  longer["transactions"] = "8";
  kHercules.expect_uncovered(Json::array(), {{{"schedules", 2}, {"params", longer}}});
}

TEST(HerculesSearch, LongMutants) {
  kHercules.expect_caught({{"mutants", 60}, {"schedules", 6}, {"params", {{"transactions", "4"}}}});
  kHercules.expect_caught({{"mutants", 60}, {"schedules", 6}, {"params", kLong}});
}

TEST(HerculesSearch, LongThousandSeeds) {
  kHercules.expect_clean({{"schedules", 1000}});
  kHercules.expect_clean({{"schedules", 1000}, {"workload", "map"}, {"params", kTree}});
}

}  // namespace
}  // namespace holdfast::design_test::hercules_search_test
