// SPDX-License-Identifier: Apache-2.0
// Does a crash search of Kiln find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_search.h"

namespace holdfast::design_test::kiln_search_test {
namespace {

/// A last level of eight lines in one set, and few entries of the queue: transactions overflow.
const Json kSmall = {{"bytes", "512"}, {"queue", "3"}};
/// A transaction that stores to more lines than all caches have. The queue has no limit.
const Json kLarge = {
    {"schedules", 10},
    {"design_options", {{"bytes", "512"}, {"queue", "0"}}},
    {"program", "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20"}};
/// Transactions of several lines, more than the caches have room for.
const Json kLong = {{"transactions", "4"}, {"registers", "24"}, {"writes", "16"}};
const Json kTree = {{"structure", "btree"}, {"transactions", "6"}};

const DesignSearch kKiln("kiln", kSmall);

TEST(KilnSearch, FindsNothing) {
  kKiln.expect_clean({{"schedules", 10}});
  kKiln.expect_clean({{"schedules", 5}, {"workload", "map"}, {"params", kTree}});
  kKiln.expect_clean(kLarge);
}

TEST(KilnSearch, CrashesFallBehindEachTransition) {
  kKiln.expect_uncovered(Json::array(), {{{"schedules", 10}, {"params", kLong}}, kLarge});
}

// Each of these reads a published sentence as it stands.
TEST(KilnSearch, FindsSentencesThatLoseTransactions) {
  for (const char* printed : {"states", "overwrite", "home"}) {
    Json options = kSmall;
    options["printed"] = printed;
    SCOPED_TRACE(printed);
    kKiln.expect_violation({{"schedules", 20}, {"design_options", options}});
  }
}

TEST(KilnSearch, LongMutants) {
  for (const Json& options : {kSmall, Json::object()}) {
    kKiln.expect_caught({{"mutants", 200}, {"schedules", 40}, {"design_options", options}});
    kKiln.expect_caught({{"mutants", 200},
                         {"schedules", 40},
                         {"design_options", options},
                         {"workload", "map"},
                         {"params", kTree}});
  }
}

TEST(KilnSearch, LongThousandSeeds) {
  for (const Json& options : {kSmall, Json::object()}) {
    kKiln.expect_clean({{"schedules", 1000}, {"design_options", options}});
    kKiln.expect_clean(
        {{"schedules", 1000}, {"design_options", options}, {"workload", "map"}, {"params", kTree}});
  }
}

}  // namespace
}  // namespace holdfast::design_test::kiln_search_test
