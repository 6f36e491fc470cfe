// SPDX-License-Identifier: Apache-2.0
// Does a crash search of Proteus find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_search.h"

namespace holdfast::design_test::proteus_search_test {
namespace {

/// Few entries everywhere: stores wait, blocks are logged again, the log wraps around.
const Json kSmall = {{"logq", "1"}, {"llt", "1"}, {"area", "4096"}};
const Json kTree = {{"structure", "btree"}, {"transactions", "6"}};

const DesignSearch kProteus("proteus", Json::object());

TEST(ProteusSearch, FindsNothing) {
  kProteus.expect_clean({{"schedules", 6}});
  kProteus.expect_clean({{"schedules", 2}, {"workload", "map"}, {"params", kTree}});
}

TEST(ProteusSearch, CrashesFallBehindEverything) {
  const Json longer = {
      {"schedules", 4}, {"design_options", kSmall}, {"params", {{"transactions", "12"}}}};
  kProteus.expect_uncovered(Json::array(), {longer});
}

// Each of these reads a published sentence as it stands.
TEST(ProteusSearch, FindsSentencesThatLoseTransactions) {
  for (const char* printed : {"drop", "commit", "abort"}) {
    SCOPED_TRACE(printed);
    kProteus.expect_violation({{"schedules", 20}, {"design_options", {{"printed", printed}}}});
  }
}

// A log entry is needed only if its line goes home before the commit. That is rarer in the tree.
TEST(ProteusSearch, LongMutants) {
  for (const Json& options : {kSmall, Json::object()}) {
    kProteus.expect_caught({{"mutants", 200}, {"schedules", 20}, {"design_options", options}});
    kProteus.expect_caught({{"mutants", 200},
                            {"schedules", 60},
                            {"design_options", options},
                            {"workload", "map"},
                            {"params", kTree}});
  }
}

TEST(ProteusSearch, LongThousandSeeds) {
  for (const Json& options : {kSmall, Json::object()}) {
    kProteus.expect_clean({{"schedules", 1000}, {"design_options", options}});
    kProteus.expect_clean(
        {{"schedules", 1000}, {"design_options", options}, {"workload", "map"}, {"params", kTree}});
  }
}

}  // namespace
}  // namespace holdfast::design_test::proteus_search_test
