// SPDX-License-Identifier: Apache-2.0
// Does a crash search of SSP find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_search.h"

namespace holdfast::design_test::ssp_search_test {
namespace {

/// A journal that is checkpointed often, and TLBs that pages leave all the time.
const Json kSmall = {{"journal", "1024"}, {"frames", "64"}, {"tlb", "5"}};
const Json kMap = {{"workload", "map"},
                   {"params", {{"structure", "btree"}, {"transactions", "6"}}},
                   {"design_options", {{"journal", "2048"}, {"frames", "64"}, {"tlb", "12"}}}};
/// A transaction that stores to more lines than all caches have.
const Json kLarge = {
    {"program", "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20"}};

/// Transactions have more pages than the TLB and the second frames. Engine hw repeats them with a
/// log in software.
const Json kFallback = {{"design_options", {{"journal", "1024"}, {"frames", "4"}, {"tlb", "2"}}},
                        {"options", {{"fallback", "8192"}}}};

const DesignSearch kSsp("ssp", kSmall);

TEST(SspSearch, FindsNothing) {
  kSsp.expect_clean({{"schedules", 10}});
  kSsp.expect_clean(joined({{"schedules", 5}}, kLarge));
  kSsp.expect_clean(joined({{"schedules", 3}}, kMap));
}

TEST(SspSearch, FindsNothingWhereSoftwareLogsLargeTransactions) {
  kSsp.expect_clean(joined({{"schedules", 10}}, kFallback));
  const Json uncovered = kSsp.run(joined({{"schedules", 2}}, kFallback))["uncovered"];
  EXPECT_EQ(
      std::count(uncovered.begin(), uncovered.end(), "a page of an open transaction left the TLBs"),
      0);
}

// Without a fallback no client of the search stores outside transactions to a line of a second
// frame, goes on with a transaction that is too large, or stores to most lines of a page. Tests of
// SspCrash do.
TEST(SspSearch, CrashesFallBehindMostOfTheRest) {
  const Json many = {{"schedules", 1}, {"params", {{"transactions", "30"}}}};
  kSsp.expect_uncovered(
      Json::array({"a page of an open transaction left the TLBs",
                   "a page was consolidated into its second frame", "all second frames were in use",
                   "a line of a second frame was stored to outside"}),
      {many, joined({{"schedules", 4}}, kLarge)});
}

TEST(SspSearch, MostMutantsOfOneScheduleAreCaught) {
  kSsp.expect_caught({{"mutants", 10}, {"schedules", 1}, {"params", {{"transactions", "4"}}}});
}

TEST(SspSearch, LongMutants) {
  kSsp.expect_caught({{"mutants", 200}, {"schedules", 20}});
  kSsp.expect_caught(joined({{"mutants", 200}, {"schedules", 20}}, kLarge));
}

TEST(SspSearch, LongThousandSeeds) {
  kSsp.expect_clean({{"schedules", 1000}});
  kSsp.expect_clean(joined({{"schedules", 1000}}, kLarge));
  kSsp.expect_clean(joined({{"schedules", 1000}}, kMap));
  kSsp.expect_clean(joined({{"schedules", 1000}}, kFallback));
}

}  // namespace
}  // namespace holdfast::design_test::ssp_search_test
