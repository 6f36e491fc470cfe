// SPDX-License-Identifier: Apache-2.0
// Does a crash search of Kiln find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include <algorithm>

#include "holdfast/runner/crash/crash.h"

namespace holdfast {
namespace {

/// A last level of eight lines in one set, and few entries of the queue: transactions overflow.
const Json kSmall = {{"bytes", "512"}, {"queue", "3"}};
/// A transaction that stores to more lines than all caches have. The queue has no limit.
const Json kLarge = {
    {"schedules", 10},
    {"design_options", {{"bytes", "512"}, {"queue", "0"}}},
    {"program", "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20"}};
const Json kTree = {{"structure", "btree"}, {"transactions", "6"}};

Json search(Json more) {
  Json spec = {{"engine", "hw"},
               {"machine", "tiny"},
               {"design", "kiln"},
               {"minimise", false},
               {"design_options", kSmall}};
  spec.update(more);
  return crash(spec, [](double, const std::string&) {}).value();
}

void expect_clean(const Json& more) {
  const Json report = search(more);
  EXPECT_TRUE(report["violations"].empty()) << report["violations"];
}

TEST(KilnSearch, FindsNothing) {
  expect_clean({{"schedules", 10}});
  expect_clean({{"schedules", 5}, {"workload", "map"}, {"params", kTree}});
  expect_clean(kLarge);
}

bool lists(const Json& names, const Json& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(KilnSearch, CrashesFallBehindEachTransition) {
  const Json small = search({{"schedules", 10}})["uncovered"];
  const Json large = search(kLarge)["uncovered"];
  for (const Json& name : small) {
    EXPECT_FALSE(lists(large, name)) << name;
  }
}

// Each of these reads a published sentence as it stands.
TEST(KilnSearch, FindsSentencesThatLoseTransactions) {
  for (const char* printed : {"states", "overwrite", "home"}) {
    Json options = kSmall;
    options["printed"] = printed;
    const Json report = search({{"schedules", 20}, {"design_options", options}});
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

TEST(KilnSearch, LongMutants) {
  for (const Json& options : {kSmall, Json::object()}) {
    expect_caught({{"mutants", 200}, {"schedules", 20}, {"design_options", options}});
    expect_caught({{"mutants", 200},
                   {"schedules", 20},
                   {"design_options", options},
                   {"workload", "map"},
                   {"params", kTree}});
  }
}

TEST(KilnSearch, LongThousandSeeds) {
  for (const Json& options : {kSmall, Json::object()}) {
    expect_clean({{"schedules", 1000}, {"design_options", options}});
    expect_clean(
        {{"schedules", 1000}, {"design_options", options}, {"workload", "map"}, {"params", kTree}});
  }
}

}  // namespace
}  // namespace holdfast
