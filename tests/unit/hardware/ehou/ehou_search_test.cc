// SPDX-License-Identifier: Apache-2.0
// Does a crash search of EHOU find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_search.h"

namespace holdfast::design_test::ehou_search_test {
namespace {

/// Two entries of the table's cache, so that transactions overflow.
const Json kOverflowing = {
    {"sets", "1"}, {"ways", "2"}, {"lines", "1"}, {"spares", "256"}, {"filter_bits", "16"}};
/// Entries with mappings of several transactions.
const Json kShared = {{"sets", "4"}, {"ways", "2"}, {"lines", "4"}, {"spares", "256"}};
/// A transaction that stores to more lines than all caches have, and to the first ones again.
const char* const kLarge =
    "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w0 w1 w2";
const Json kTree = {{"structure", "btree"}, {"transactions", "6"}};

const DesignSearch kEhou("ehou", kOverflowing);

Json with(Json options, const char* name, const char* value) {
  options[name] = value;
  return options;
}

TEST(EhouSearch, FindsNothing) {
  kEhou.expect_clean({{"schedules", 10}});
  kEhou.expect_clean({{"schedules", 5}, {"design_options", kShared}});
  kEhou.expect_clean({{"schedules", 5}, {"program", kLarge}});
  kEhou.expect_clean({{"schedules", 3}, {"workload", "map"}, {"params", kTree}});
  kEhou.expect_clean({{"schedules", 5}, {"design_options", with(kOverflowing, "policy", "eager")}});
}

TEST(EhouSearch, CrashesFallBehindEachTransition) {
  const Json eager = with(kShared, "policy", "eager");
  kEhou.expect_uncovered(Json::array(), {{{"schedules", 10}},
                                         {{"schedules", 5}, {"program", kLarge}},
                                         {{"schedules", 5}, {"design_options", eager}}});
}

// Each of these reads a published sentence as it stands.
TEST(EhouSearch, FindsSentencesThatLoseTransactions) {
  for (const char* printed : {"noflush", "states", "noflow", "early", "clear"}) {
    SCOPED_TRACE(printed);
    kEhou.expect_violation(
        {{"schedules", 20}, {"design_options", with(kOverflowing, "printed", printed)}});
  }
}

TEST(EhouSearch, LongMutants) {
  for (const Json& options : {kOverflowing, kShared}) {
    kEhou.expect_caught({{"mutants", 200}, {"schedules", 20}, {"design_options", options}});
  }
  kEhou.expect_caught(
      {{"mutants", 200}, {"schedules", 20}, {"workload", "map"}, {"params", kTree}});
}

TEST(EhouSearch, LongThousandSeeds) {
  for (const Json& options : {kOverflowing, kShared, with(kShared, "policy", "eager")}) {
    kEhou.expect_clean({{"schedules", 1000}, {"design_options", options}});
    kEhou.expect_clean(
        {{"schedules", 300}, {"design_options", options}, {"workload", "map"}, {"params", kTree}});
  }
}

}  // namespace
}  // namespace holdfast::design_test::ehou_search_test
