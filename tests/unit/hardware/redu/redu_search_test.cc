// SPDX-License-Identifier: Apache-2.0
// Does a crash search of REDU find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_search.h"

namespace holdfast::design_test::redu_search_test {
namespace {

/// The DRAM cache is smaller than a transaction, the buffer and the log not much larger.
const Json kSmall = {
    {"buffer", "256"}, {"region", "4096"}, {"dram", "256"}, {"ways", "2"}, {"entries", "words"}};
const Json kLines = {
    {"design_options", {{"buffer", "256"}, {"region", "16384"}, {"dram", "256"}, {"ways", "2"}}}};
const Json kLazy = {{"design_options",
                     {{"buffer", "128"},
                      {"entries", "words"},
                      {"region", "4096"},
                      {"dram", "2048"},
                      {"flush", "lazy"},
                      {"flush_lines", "1"}}}};
/// A transaction that stores to more lines than all caches, and a set of the DRAM cache, have. The
/// next ones leave most of these lines alone. So a line that the first one has left dirty in the
/// caches, without a flag, is still there when the log's tail passes its words.
const Json kLarge = {
    {"program",
     "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 ; (w0)*20"}};
const Json kMap = {{"workload", "map"},
                   {"params", {{"structure", "btree"}, {"transactions", "6"}}},
                   {"design_options",
                    {{"buffer", "256"},
                     {"region", "16384"},
                     {"dram", "512"},
                     {"ways", "2"},
                     {"entries", "words"}}}};

const DesignSearch kRedu("redu", kSmall);

TEST(ReduSearch, FindsNothing) {
  kRedu.expect_clean({{"schedules", 10}});
  kRedu.expect_clean(joined({{"schedules", 10}}, kLines));
  kRedu.expect_clean(joined({{"schedules", 5}}, kLazy));
  kRedu.expect_clean(joined({{"schedules", 5}}, kLarge));
  kRedu.expect_clean(joined({{"schedules", 3}}, kMap));
}

// No client of the search stores outside transactions to a line of the log. The test
// ReduCrash.APowerFailureKeepsLinesThatWereStoredToOutside does.
TEST(ReduSearch, CrashesFallBehindEverythingElse) {
  const Json one_by_one = {
      {"schedules", 4},
      {"design_options",
       {{"buffer", "128"}, {"region", "4096"}, {"flush_lines", "1"}, {"entries", "words"}}},
      {"params", {{"transactions", "30"}}}};
  kRedu.expect_uncovered(Json::array({"a line stored to outside transactions was logged"}),
                         {one_by_one, joined({{"schedules", 4}}, kLarge)});
}

TEST(ReduSearch, MostMutantsOfThreeSchedulesAreCaught) {
  kRedu.expect_caught({{"mutants", 20}, {"schedules", 3}, {"params", {{"transactions", "4"}}}});
}

TEST(ReduSearch, LongMutants) {
  kRedu.expect_caught({{"mutants", 200}, {"schedules", 20}});
  kRedu.expect_caught(joined({{"mutants", 200}, {"schedules", 20}}, kLarge));
  kRedu.expect_caught(joined({{"mutants", 200}, {"schedules", 20}}, kLines));
}

TEST(ReduSearch, LongThousandSeeds) {
  kRedu.expect_clean({{"schedules", 1000}});
  kRedu.expect_clean(joined({{"schedules", 1000}}, kLines));
  kRedu.expect_clean(joined({{"schedules", 1000}}, kLazy));
  kRedu.expect_clean(joined({{"schedules", 1000}}, kMap));
}

}  // namespace
}  // namespace holdfast::design_test::redu_search_test
