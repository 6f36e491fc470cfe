// SPDX-License-Identifier: Apache-2.0
// Does a crash search of Hercules find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include <cstdio>

#include "holdfast/runner/crash/crash.h"

namespace holdfast {
namespace {

const Json kFew = {{"ewpq", "2"}, {"migrate", "3000"}, {"collect", "32"}, {"small_l1", "0"}};
/// Transactions of several lines, more than the caches have room for.
const Json kLong = {{"transactions", "4"}, {"registers", "24"}, {"writes", "12"}};
const Json kTree = {{"structure", "btree"}, {"transactions", "6"}};

Json search(Json more) {
  Json spec = {{"engine", "hw"},
               {"machine", "tiny"},
               {"design", "hercules"},
               {"minimise", false},
               {"design_options", kFew}};
  spec.update(more);
  return crash(spec, [](double, const std::string&) {}).value();
}

void expect_clean(const Json& more) {
  const Json report = search(more);
  EXPECT_TRUE(report["violations"].empty()) << report["violations"];
}

TEST(HerculesSearch, FindsNothing) {
  expect_clean({{"schedules", 20}});
  expect_clean({{"schedules", 10}, {"params", kLong}});
  expect_clean({{"schedules", 10}, {"workload", "map"}, {"params", kTree}});
}

TEST(HerculesSearch, CrashesFallBehindEveryTransition) {
  EXPECT_EQ(search({{"schedules", 1}, {"params", kLong}})["uncovered"], Json::array());
}

void expect_caught(const Json& more) {
  const Json report = search(more);
  ASSERT_TRUE(report["violations"].empty()) << report["violations"];
  const Json& mutants = report["mutants"];
  const auto caught = mutants["caught"].get<double>();
  const auto counted = caught + static_cast<double>(mutants["survivors"].size());
  std::printf("%.0f of %.0f mutants caught\n", caught, counted);
  EXPECT_GE(counted, 30);
  EXPECT_GE(caught, 0.9 * counted) << mutants["survivors"];
}

TEST(HerculesSearch, LongMutants) {
  expect_caught({{"mutants", 60}, {"schedules", 6}, {"params", {{"transactions", "4"}}}});
  expect_caught({{"mutants", 60}, {"schedules", 6}, {"params", kLong}});
}

TEST(HerculesSearch, LongThousandSeeds) {
  expect_clean({{"schedules", 1000}});
  expect_clean({{"schedules", 1000}, {"workload", "map"}, {"params", kTree}});
}

}  // namespace
}  // namespace holdfast
