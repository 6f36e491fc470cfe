// SPDX-License-Identifier: Apache-2.0
// Does a crash search of EHOU find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include <algorithm>

#include "holdfast/runner/crash/crash.h"

namespace holdfast {
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

Json search(Json more) {
  Json spec = {{"engine", "hw"},
               {"machine", "tiny"},
               {"design", "ehou"},
               {"minimise", false},
               {"design_options", kOverflowing}};
  spec.update(more);
  return crash(spec, [](double, const std::string&) {}).value();
}

Json with(Json options, const char* name, const char* value) {
  options[name] = value;
  return options;
}

void expect_clean(const Json& more) {
  const Json report = search(more);
  EXPECT_TRUE(report["violations"].empty()) << report["violations"];
}

TEST(EhouSearch, FindsNothing) {
  expect_clean({{"schedules", 10}});
  expect_clean({{"schedules", 5}, {"design_options", kShared}});
  expect_clean({{"schedules", 5}, {"program", kLarge}});
  expect_clean({{"schedules", 3}, {"workload", "map"}, {"params", kTree}});
  expect_clean({{"schedules", 5}, {"design_options", with(kOverflowing, "policy", "eager")}});
}

bool lists(const Json& names, const Json& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(EhouSearch, CrashesFallBehindEachTransition) {
  const Json lazy = search({{"schedules", 10}})["uncovered"];
  const Json large = search({{"schedules", 5}, {"program", kLarge}})["uncovered"];
  const Json eager_options = with(kShared, "policy", "eager");
  const Json eager = search({{"schedules", 5}, {"design_options", eager_options}})["uncovered"];
  for (const Json& name : lazy) {
    EXPECT_FALSE(lists(large, name) && lists(eager, name)) << name;
  }
}

// Each of these reads a published sentence as it stands.
TEST(EhouSearch, FindsSentencesThatLoseTransactions) {
  for (const char* printed : {"noflush", "states", "noflow", "early", "clear"}) {
    const Json report =
        search({{"schedules", 20}, {"design_options", with(kOverflowing, "printed", printed)}});
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

TEST(EhouSearch, LongMutants) {
  for (const Json& options : {kOverflowing, kShared}) {
    expect_caught({{"mutants", 200}, {"schedules", 20}, {"design_options", options}});
  }
  expect_caught({{"mutants", 200}, {"schedules", 20}, {"workload", "map"}, {"params", kTree}});
}

TEST(EhouSearch, LongThousandSeeds) {
  for (const Json& options : {kOverflowing, kShared, with(kShared, "policy", "eager")}) {
    expect_clean({{"schedules", 1000}, {"design_options", options}});
    expect_clean(
        {{"schedules", 300}, {"design_options", options}, {"workload", "map"}, {"params", kTree}});
  }
}

}  // namespace
}  // namespace holdfast
