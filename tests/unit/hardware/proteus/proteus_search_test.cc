// SPDX-License-Identifier: Apache-2.0
// Does a crash search of Proteus find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include <algorithm>

#include "holdfast/runner/crash/crash.h"

namespace holdfast {
namespace {

/// Few entries everywhere: stores wait, blocks are logged again, the log wraps around.
const Json kSmall = {{"logq", "1"}, {"llt", "1"}, {"area", "4096"}};
const Json kTree = {{"structure", "btree"}, {"transactions", "6"}};

Json search(const Json& more) {
  Json spec = {{"engine", "hw"}, {"machine", "tiny"}, {"design", "proteus"}, {"minimise", false}};
  spec.update(more);
  return crash(spec, [](double, const std::string&) {}).value();
}

void expect_clean(const Json& more) {
  const Json report = search(more);
  EXPECT_TRUE(report["violations"].empty()) << report["violations"];
}

TEST(ProteusSearch, FindsNothing) {
  expect_clean({{"schedules", 6}});
  expect_clean({{"schedules", 2}, {"workload", "map"}, {"params", kTree}});
}

TEST(ProteusSearch, CrashesFallBehindEverything) {
  const Json report =
      search({{"schedules", 4}, {"design_options", kSmall}, {"params", {{"transactions", "12"}}}});
  EXPECT_TRUE(report["violations"].empty()) << report["violations"];
  EXPECT_EQ(report["uncovered"], Json::array());
}

// Each of these reads a published sentence as it stands.
TEST(ProteusSearch, FindsSentencesThatLoseTransactions) {
  for (const char* printed : {"drop", "commit", "abort"}) {
    const Json report = search({{"schedules", 20}, {"design_options", {{"printed", printed}}}});
    EXPECT_FALSE(report["violations"].empty()) << printed;
  }
}

void expect_caught(const Json& more) {
  const Json report = search(more);
  ASSERT_TRUE(report["violations"].empty()) << report["violations"];
  const Json& mutants = report["mutants"];
  const auto caught = mutants["caught"].get<double>();
  const auto counted = caught + static_cast<double>(mutants["survivors"].size());
  EXPECT_GE(counted, 30);
  EXPECT_GE(caught, 0.9 * counted) << mutants["survivors"];
}

// A log entry is needed only if its line goes home before the commit. That is rarer in the tree.
TEST(ProteusSearch, LongMutants) {
  for (const Json& options : {kSmall, Json::object()}) {
    expect_caught({{"mutants", 200}, {"schedules", 20}, {"design_options", options}});
    expect_caught({{"mutants", 200},
                   {"schedules", 60},
                   {"design_options", options},
                   {"workload", "map"},
                   {"params", kTree}});
  }
}

TEST(ProteusSearch, LongThousandSeeds) {
  for (const Json& options : {kSmall, Json::object()}) {
    expect_clean({{"schedules", 1000}, {"design_options", options}});
    expect_clean(
        {{"schedules", 1000}, {"design_options", options}, {"workload", "map"}, {"params", kTree}});
  }
}

}  // namespace
}  // namespace holdfast
