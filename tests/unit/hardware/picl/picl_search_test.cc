// SPDX-License-Identifier: Apache-2.0
// Does a crash search of PiCL find nothing, and its planted bugs?
#include <gtest/gtest.h>

#include <algorithm>

#include "holdfast/check/crash/crash_explorer.h"
#include "holdfast/check/crash/register_subject.h"
#include "holdfast/hardware/picl/picl.h"
#include "holdfast/runner/crash/workload_subject.h"
#include "holdfast/workloads/catalogue.h"
#include "tests/unit/hardware/design_fixture.h"
#include "tests/unit/hardware/design_search.h"

namespace holdfast::design_test::picl_search_test {
namespace {

const Json kSmall = {{"epoch_instructions", "200"}, {"entries", "4"}, {"gap", "1"}};
const Json kTree = {{"structure", "btree"}, {"transactions", "20"}};

const Json kTwelve = {{"params", {{"transactions", "12"}}}};
const DesignSearch kPicl("picl", kSmall);

Json expect_clean(const Json& more) {
  Json report = kPicl.run(joined(more, kTwelve));
  EXPECT_TRUE(report["violations"].empty()) << report["violations"];
  return report;
}

TEST(PiclSearch, FindsNothing) {
  const Json report = expect_clean({{"schedules", 4}, {"points", 100}});
  EXPECT_GE(report["coverage"]["epochs"], 5);
  EXPECT_GT(report["lost_max"], 0) << "the running epoch is lost";
  EXPECT_TRUE(report["uncovered"].empty()) << report["uncovered"];
  // Here a scan comes to a line that moves from one cache to another.
  expect_clean({{"seed", 10}, {"schedules", 1}});
  expect_clean({{"schedules", 2}, {"points", 100}, {"workload", "map"}, {"params", kTree}});
}

TEST(PiclSearch, FindsSentencesThatLoseTransactions) {
  for (const char* printed : {"anywhere", "burst"}) {
    Json options = kSmall;
    options["printed"] = printed;
    SCOPED_TRACE(printed);
    kPicl.expect_violation(
        joined({{"schedules", 20}, {"points", 100}, {"design_options", options}}, kTwelve));
  }
}

// ---- canaries of the judge with a floor

/// Persists one epoch less than it promises.
class OneEpochTooFew final : public Picl {
 public:
  using Picl::Picl;
  std::optional<uint64_t> epochs_behind() const override { return *Picl::epochs_behind() - 1; }
};

/// Lets lines go home before their entries are in the log.
class HomeBeforeTheLog final : public Picl {
 public:
  using Picl::Picl;
  MemoryWrite memory_write(const LineMove& /*move*/, Time now) override { return {true, now}; }
};

/// The name of the first violation of a search with this design.
template <class D>
std::string violation(check::Subject& subject) {
  check::CrashPlan plan;
  plan.machine = options(tiny(), "picl");
  plan.machine.make_design = [] {
    return std::make_unique<D>(PiclOptions{.epoch_instructions = 600, .gap = 1, .entries = 4});
  };
  plan.heap.engine = "hw";
  plan.heap.bytes = 64 << 10;
  plan.schedules = 4;
  plan.points = 100;
  const check::CrashReport report = check::CrashExplorer(plan, subject).explore([](double) {});
  return report.violations.empty() ? "" : report.violations[0].fault.name;
}

TEST(PiclSearch, TheJudgeOfRegistersKnowsTheFloor) {
  check::RegisterSubject subject({.program = {.threads = 2, .transactions = 12}});
  EXPECT_EQ(violation<Picl>(subject), "");
  EXPECT_EQ(violation<OneEpochTooFew>(subject), "lost below the floor");
  EXPECT_NE(violation<HomeBeforeTheLog>(subject), "");
}

TEST(PiclSearch, TheJudgeOfStructuresKnowsTheFloor) {
  const WorkloadInfo& info = *find_workload("map").value();
  std::map<std::string, std::string> tiny;
  for (const OptionInfo& parameter : info.parameters) {
    if (parameter.tiny != nullptr) {
      tiny.emplace(parameter.name, parameter.tiny);
    }
  }
  WorkloadSubject subject(info, Parameters::make(info, tiny).value(), 2, 12);
  EXPECT_EQ(violation<Picl>(subject), "");
  EXPECT_EQ(violation<OneEpochTooFew>(subject), "not linearizable");
  EXPECT_NE(violation<HomeBeforeTheLog>(subject), "");
}

// ---- mutants

/// Swaps of two tags do not count: a line gets its tag when the next one would get its own, and a
/// late tag costs another entry of the log and no data. picl.md has the other survivors.
void expect_caught(double part, const Json& more) {
  const Json report = kPicl.run(joined(more, kTwelve));
  ASSERT_TRUE(report["violations"].empty()) << report["violations"];
  const Json& mutants = report["mutants"];
  const auto swap_of_tags = [](const Json& mutant) {
    return mutant["change"] == "flags" && mutant["kind"] == "swap";
  };
  const Json& survivors = mutants["survivors"];
  const auto swaps = std::count_if(survivors.begin(), survivors.end(), swap_of_tags);
  const auto caught = mutants["caught"].get<double>();
  const double counted =
      caught + static_cast<double>(survivors.size()) - static_cast<double>(swaps);
  EXPECT_GE(counted, 30);
  EXPECT_GE(caught, part * counted) << mutants;
}

TEST(PiclSearch, LongMutants) {
  expect_caught(0.9, {{"mutants", 20}, {"schedules", 20}});
  expect_caught(0.85, {{"mutants", 20}, {"schedules", 20}, {"workload", "map"}, {"params", kTree}});
}

TEST(PiclSearch, LongEpochsOfTwoThousandInstructions) {
  for (const char* gap : {"1", "3"}) {
    const Json report = expect_clean(
        {{"schedules", 3},
         {"points", 60},
         {"params", {{"transactions", "150"}}},
         {"design_options", {{"epoch_instructions", "2000"}, {"entries", "4"}, {"gap", gap}}}});
    EXPECT_GE(report["coverage"]["epochs"], 5);
  }
}

TEST(PiclSearch, LongThousandSeeds) {
  expect_clean({{"schedules", 1000}, {"points", 150}});
  expect_clean({{"schedules", 1000}, {"points", 150}, {"workload", "map"}, {"params", kTree}});
}

}  // namespace
}  // namespace holdfast::design_test::picl_search_test
