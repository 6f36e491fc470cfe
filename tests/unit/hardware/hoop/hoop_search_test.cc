// SPDX-License-Identifier: Apache-2.0
// Does a crash search of HOOP find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include <algorithm>

#include "holdfast/runner/crash/crash.h"

namespace holdfast {
namespace {

/// The table is smaller than a transaction, the buffer and the log not much larger, and collections
/// are frequent.
const Json kSmall = {{"buffer", "256"}, {"table", "128"}, {"region", "4096"}, {"collect_us", "2"}};
const Json kMap = {
    {"workload", "map"},
    {"params", {{"structure", "btree"}, {"transactions", "6"}}},
    {"design_options",
     {{"buffer", "256"}, {"table", "256"}, {"region", "16384"}, {"collect_us", "2"}}}};

Json search(Json more, const Json& and_more = Json::object()) {
  Json spec = {{"engine", "hw"},
               {"machine", "tiny"},
               {"design", "hoop"},
               {"minimise", false},
               {"design_options", kSmall}};
  spec.update(and_more);
  spec.update(more);
  return crash(spec, [](double, const std::string&) {}).value();
}

void expect_clean(const Json& more, const Json& and_more = Json::object()) {
  const Json report = search(more, and_more);
  EXPECT_TRUE(report["violations"].empty()) << report["violations"];
}

void expect_caught(const Json& more, const Json& and_more = Json::object()) {
  const Json report = search(more, and_more);
  ASSERT_TRUE(report["violations"].empty()) << report["violations"];
  const Json& mutants = report["mutants"];
  const auto caught = mutants["caught"].get<double>();
  const auto counted = caught + static_cast<double>(mutants["survivors"].size());
  EXPECT_GE(counted, 30);
  EXPECT_GE(caught, 0.9 * counted) << mutants["survivors"];
}

TEST(HoopSearch, FindsNothing) {
  expect_clean({{"schedules", 10}});
  expect_clean({{"schedules", 3}}, kMap);
}

// No client of the search stores outside transactions to a line of the log. The test
// HoopCrash.APowerFailureKeepsLinesThatWereStoredToOutside does.
TEST(HoopSearch, CrashesFallBehindEverythingElse) {
  const Json often = search({{"schedules", 4}})["uncovered"];
  const Json never = search(
      {{"schedules", 4},
       {"design_options", {{"buffer", "128"}, {"region", "4096"}, {"collect_us", "1000000"}}},
       {"params", {{"transactions", "12"}}}})["uncovered"];
  Json both = Json::array();
  for (const Json& name : often) {
    if (std::find(never.begin(), never.end(), name) != never.end()) {
      both.push_back(name);
    }
  }
  EXPECT_EQ(both, Json::array({"a line stored to outside transactions was logged"}));
}

TEST(HoopSearch, MostMutantsOfOneScheduleAreCaught) {
  expect_caught({{"mutants", 10}, {"schedules", 1}, {"params", {{"transactions", "4"}}}});
}

TEST(HoopSearch, LongMutants) {
  expect_caught({{"mutants", 200}, {"schedules", 20}});
  expect_caught({{"mutants", 200}, {"schedules", 20}}, kMap);
}

TEST(HoopSearch, LongThousandSeeds) {
  expect_clean({{"schedules", 1000}});
  expect_clean({{"schedules", 1000}}, kMap);
}

}  // namespace
}  // namespace holdfast
