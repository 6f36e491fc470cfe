// SPDX-License-Identifier: Apache-2.0
// Does a crash search of FWB find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include "tests/unit/hardware/design_search.h"

namespace holdfast::design_test::fwb_search_test {
namespace {

/// Stores wait, the log wraps around, and scans are frequent.
const Json kSmall = {{"buffer", "2"}, {"log", "4096"}, {"scan_cycles", "1000"}};
/// These without scans by time.
const Json kNoScan = {{"buffer", "2"}, {"log", "4096"}, {"scan_cycles", "1000000000"}};
const Json kTree = {{"structure", "btree"}, {"transactions", "6"}};

const DesignSearch kFwb("fwb", kSmall);

TEST(FwbSearch, FindsNothing) {
  kFwb.expect_clean({{"schedules", 6}});
  kFwb.expect_clean({{"schedules", 2}, {"workload", "map"}, {"params", kTree}});
}

// No client of the search stores outside transactions to a line of the log. The test
// FwbCrash.APowerFailureKeepsLinesThatWereStoredToOutside does.
TEST(FwbSearch, CrashesFallBehindEverythingElse) {
  const Json slow = {{"log", "4096"}, {"scan_lines", "1"}};
  const Json search = {{"schedules", 2},
                       {"design_options", slow},
                       {"params", {{"transactions", "16"}, {"ranges", "100"}, {"pieces", "12"}}}};
  kFwb.expect_uncovered(Json::array({"a line stored to outside transactions went home"}), {search});
}

// Each of these reads a published sentence as it stands.
TEST(FwbSearch, FindsSentencesThatLoseTransactions) {
  for (const char* printed : {"order", "wrap", "abort"}) {
    Json options = printed == std::string("wrap") ? kNoScan : kSmall;
    options["printed"] = printed;
    SCOPED_TRACE(printed);
    kFwb.expect_violation(
        {{"schedules", 20}, {"design_options", options}, {"params", {{"transactions", "12"}}}});
  }
}

TEST(FwbSearch, LongMutants) {
  kFwb.expect_caught({{"mutants", 200}, {"schedules", 20}});
  kFwb.expect_caught({{"mutants", 200}, {"schedules", 20}, {"workload", "map"}, {"params", kTree}});
}

TEST(FwbSearch, LongThousandSeeds) {
  for (const Json& options : {kSmall, Json::object()}) {
    kFwb.expect_clean({{"schedules", 1000}, {"design_options", options}});
    kFwb.expect_clean(
        {{"schedules", 1000}, {"design_options", options}, {"workload", "map"}, {"params", kTree}});
  }
}

}  // namespace
}  // namespace holdfast::design_test::fwb_search_test
