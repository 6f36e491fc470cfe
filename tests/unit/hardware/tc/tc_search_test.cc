// SPDX-License-Identifier: Apache-2.0
// Does a crash search of the transaction cache find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/hardware/design_search.h"

namespace holdfast::design_test::tc_search_test {
namespace {

const Json kSmall = {{"bytes", "256"}};  // four entries, so that transactions spill
const Json kTree = {{"structure", "btree"}, {"transactions", "6"}};

const DesignSearch kTc("tc", Json::object());

bool lists(const Json& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(TcSearch, CrashesFallBehindSpillsIfEntriesAreFew) {
  const Json few = kTc.run({{"schedules", 2}, {"design_options", kSmall}})["uncovered"];
  const Json usual = kTc.run({{"schedules", 2}})["uncovered"];
  for (const char* name :
       {"an entry was spilled", "a log record was drained", "a log became empty"}) {
    EXPECT_FALSE(lists(few, name)) << name;
    EXPECT_TRUE(lists(usual, name)) << name;
  }
  EXPECT_FALSE(lists(usual, "an entry was drained"));
}

// A line that had left the caches came back without its flag. After its entry was spilled, caches
// that survive wrote it home before the commit.
TEST(TcSearch, ALineThatCameBackStaysOutOfItsPlaceUntilTheCommit) {
  kTc.expect_clean({{"domain", "eadr"},
                    {"design_options", kSmall},
                    {"schedules", 1},
                    {"seed", 28},
                    {"program", "w3 w6"}});
}

TEST(TcSearch, MostMutantsOfSixSchedulesAreCaught) {
  kTc.expect_caught({{"mutants", 40}, {"schedules", 6}});
}

TEST(TcSearch, LongMutantsOfRegisters) {
  kTc.expect_caught({{"mutants", 200}, {"schedules", 20}});
  kTc.expect_caught({{"mutants", 200}, {"schedules", 20}, {"design_options", kSmall}});
}

TEST(TcSearch, LongMutantsOfATree) {
  for (const char* bytes : {"64", "256", "4096"}) {
    kTc.expect_caught({{"mutants", 200},
                       {"schedules", 20},
                       {"workload", "map"},
                       {"params", kTree},
                       {"design_options", {{"bytes", bytes}}}});
  }
}

TEST(TcSearch, LongThousandSeeds) {
  for (const char* domain : {"pmem", "eadr"}) {
    for (const char* bytes : {"256", "4096"}) {
      const Json options = {{"bytes", bytes}};
      kTc.expect_clean({{"schedules", 1000}, {"domain", domain}, {"design_options", options}});
      kTc.expect_clean({{"schedules", 1000},
                        {"domain", domain},
                        {"design_options", options},
                        {"workload", "map"},
                        {"params", kTree}});
    }
  }
}

}  // namespace
}  // namespace holdfast::design_test::tc_search_test
