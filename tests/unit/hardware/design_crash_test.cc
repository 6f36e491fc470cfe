// SPDX-License-Identifier: Apache-2.0
// Does a crash search judge hardware designs, their recovery included, and does it find planted
// bugs in them?
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "holdfast/check/crash/crash_explorer.h"
#include "holdfast/check/crash/register_subject.h"
#include "holdfast/runner/crash/crash.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::design_crash_test {
namespace {

Json search(const Json& more) {
  Json spec = {
      {"engine", "hw"}, {"machine", "tiny"}, {"design", durable_design()}, {"minimise", false}};
  spec.update(more);
  return crash(spec, [](double, const std::string&) {}).value();
}

TEST(DesignCrash, AnInterruptedRecoveryRecovers) {
  const Json report = search({{"schedules", 2}, {"crash_recovery", 2}, {"go_on", 8}});
  EXPECT_TRUE(report["violations"].empty()) << report["violations"];
  EXPECT_GT(report["coverage"]["recovery_points"], 100);
  EXPECT_GT(report["coverage"]["continued"], 0);
}

// Some machines keep their caches over a power failure, and some designs are made for others.
TEST(DesignCrash, ADesignsDomainComesBeforeTheMachines) {
  size_t found = 0;
  for (const DesignInfo& design : hardware_designs()) {
    for (const char* machine : {"tiny", "gem5-hercules"}) {
      if (design.domain) {
        const Json report = search({{"design", design.name},
                                    {"machine", machine},
                                    {"schedules", 1},
                                    {"events", 50},
                                    {"points", 2},
                                    {"crash_recovery", 0}});
        EXPECT_EQ(report["domain"], to_string(*design.domain)) << design.name << " " << machine;
        ++found;
      }
    }
  }
  EXPECT_GT(found, 0u);
}

TEST(DesignCrash, AViolationInADisturbedScheduleShowsAgain) {
  const Json report =
      search({{"seed", 2}, {"schedules", 20}, {"mutations", {"hw.commit.wait=drop"}}});
  ASSERT_EQ(report["violations"].size(), 1u);
  const Json& found = report["violations"][0];
  EXPECT_GT(found["seed"], 1);
  const Json again = crash(found["replay"], [](double, const std::string&) {}).value();
  ASSERT_EQ(again["violations"].size(), 1u);
  for (const char* field : {"name", "phase", "text", "seed", "point", "image"}) {
    EXPECT_EQ(again["violations"][0][field], found[field]) << field;
  }
}

/// A design whose recovery fails.
class FailsToRecover final : public HardwareDesign {
 public:
  Time recover(DesignRecovery&, Time) override {
    throw Error(Status(Code::corrupt, "where was I"));
  }
};

TEST(DesignCrash, ARecoveryThatFailsIsAViolation) {
  check::RegisterSubject subject({.program = {.threads = 2, .transactions = 1}});
  check::CrashPlan plan;
  plan.machine = options(tiny(), durable_design());
  plan.machine.make_design = [] { return std::make_unique<FailsToRecover>(); };
  plan.machine.design.clear();  // as of a design that has no name
  plan.heap.engine = "hw";
  plan.heap.bytes = 16 << 10;
  plan.schedules = 1;
  const check::CrashReport report = check::CrashExplorer(plan, subject).explore([](double) {});
  ASSERT_EQ(report.violations.size(), 1u);
  EXPECT_EQ(report.violations[0].fault.name, "design recovery failed");
  EXPECT_NE(report.violations[0].fault.text.find("where was I"), std::string::npos);
}

// ---- coverage

const check::DesignCoverage::Row& row(const std::vector<check::DesignCoverage::Row>& rows,
                                      const std::string& name) {
  return *std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.name == name; });
}

TEST(DesignCoverage, TellsHowOftenACrashFellBehindEachHook) {
  DesignMachine m(options(roomy(), durable_design()));
  check::DesignCoverage coverage;
  const auto transactions = [&](int n) {
    m.run([&] {
      for (int i = 0; i < n; ++i) {
        m.transaction(0, 1, 1);
      }
    });
  };
  transactions(1);  // before: does not count
  coverage.begin(m.machine());
  coverage.point(m.machine());
  transactions(2);
  coverage.point(m.machine());
  coverage.point(m.machine());
  transactions(3);
  coverage.end(m.machine());
  transactions(1);  // behind: does not count
  EXPECT_EQ(row(coverage.rows(), "begin").met, 5u);
  EXPECT_EQ(row(coverage.rows(), "begin").behind, 1u) << "none behind the last three";

  coverage.begin(m.machine());  // another part of a run
  transactions(1);
  coverage.point(m.machine());
  coverage.end(m.machine());
  EXPECT_EQ(row(coverage.rows(), "begin").met, 6u);
  EXPECT_EQ(row(coverage.rows(), "begin").behind, 2u);
}

TEST(DesignCoverage, ListsWhatWasMetOrIsDeclared) {
  DesignMachine m(options(roomy(), durable_design()));
  check::DesignCoverage coverage;
  coverage.begin(m.machine());
  m.run([&] { m.transaction(0, 1, 1); });
  coverage.end(m.machine());
  std::set<std::string> names;
  for (const auto& listed : coverage.rows()) {
    EXPECT_TRUE(listed.met > 0 || listed.declared) << listed.name;
    names.insert(listed.name);
  }
  EXPECT_FALSE(names.contains("abort"));
  for (const char* transition : m->hardware_design()->transitions()) {
    EXPECT_TRUE(names.contains(transition));
  }
  const std::vector<std::string> uncovered = coverage.uncovered();
  EXPECT_EQ(std::set(uncovered.begin(), uncovered.end()), names) << "there was no crash point";
}

// Each change of a structure, of one entry or of several, counts once.
TEST(DesignCoverage, CountsTheChangesOfEachStructure) {
  size_t structures = 0;
  for (const DesignInfo& design : hardware_designs()) {
    DesignMachine m(options(tiny(), design.name));
    m.run([&] {
      for (size_t first = 0; first < 200; first += 10) {
        m.transaction(first, 10, 1);
      }
    });
    uint64_t changes = 0;
    for (const DesignCoverageRow& row : m->design_coverage()) {
      if (row.name.starts_with("structure ")) {
        ++structures;
        changes += row.count;
      }
    }
    const uint64_t all = m->design_changes()[static_cast<size_t>(DesignChange::structure)];
    EXPECT_EQ(changes, all) << design.name;
  }
  EXPECT_GT(structures, 0u);
}

// ---- mutants

TEST(DesignMutants, ADelayedWriteHappensAfterAHundredPersistEvents) {
  SimOptions o = options_for<Open>(roomy(), Domain::pmem);
  o.design_fault = DesignFault{DesignChange::home_write, FaultKind::delay, 0};
  DesignMachine m(o);
  const auto write = [&](size_t line) {
    m.set(line, 1);
    m->pwb(m.word(line));
    m->pfence();
  };
  uint64_t events = 0;
  uint64_t happened = 0;
  m->before_persist_event([&](uint64_t) {
    ++events;
    if (happened == 0 && DesignMachine::in_image(m->earliest_image(), 0) != 0) {
      happened = events;
    }
  });
  m.run([&] {
    write(0);
    const uint64_t from = events;
    for (size_t line = 1; happened == 0 && line < 300; ++line) {
      write(line);
    }
    EXPECT_EQ(happened - from, 102u);
  });
  m->before_persist_event({});
}

TEST(DesignMutants, AllOfAFewAndAFewOfMany) {
  const auto of = [](const std::vector<DesignFault>& mutants, DesignChange change, FaultKind kind) {
    std::vector<uint64_t> numbers;
    for (const DesignFault& mutant : mutants) {
      if (mutant.change == change && mutant.kind == kind) {
        numbers.push_back(mutant.number);
      }
    }
    return numbers;
  };
  const auto mutants = check::draw_mutants({2, 0, 1000, 3}, 3, 1);
  EXPECT_EQ(mutants.size(), 3u * (2 + 0 + 3 + 3));
  EXPECT_EQ(of(mutants, DesignChange::home_write, FaultKind::swap), (std::vector<uint64_t>{0, 1}));
  const auto some = of(mutants, DesignChange::structure, FaultKind::drop);
  EXPECT_EQ(std::set(some.begin(), some.end()).size(), 3u) << "all different";
  EXPECT_LT(some.back(), 1000u);
  EXPECT_NE(some, of(mutants, DesignChange::structure, FaultKind::delay));
  EXPECT_EQ(some, of(check::draw_mutants({2, 0, 1000, 3}, 3, 1), DesignChange::structure,
                     FaultKind::drop));
  EXPECT_NE(some, of(check::draw_mutants({2, 0, 1000, 3}, 3, 2), DesignChange::structure,
                     FaultKind::drop));
}

TEST(DesignMutants, MostAreCaughtAndEachIsCountedOnce) {
  const Json report = search({{"schedules", 2}, {"mutants", 8}});
  EXPECT_TRUE(report["violations"].empty());
  const Json& mutants = report["mutants"];
  const auto count = [&](const char* name) { return mutants[name].get<size_t>(); };
  const size_t survivors = mutants["survivors"].size();
  EXPECT_EQ(count("planted"), count("caught") + count("equivalent") + count("masked") + survivors);
  EXPECT_GT(count("caught"), 10u);
  EXPECT_LT(survivors, count("caught"));
  const Json again = search({{"schedules", 2}, {"mutants", 8}});
  EXPECT_EQ(again["mutants"], mutants) << "deterministic";
  const Json sound = search({{"schedules", 2}});
  EXPECT_EQ(report["design_coverage"], sound["design_coverage"]) << "that of the sound design";
  EXPECT_FALSE(sound.contains("mutants"));
}

TEST(DesignMutants, NeedADesign) {
  const auto refused = crash({{"engine", "hw"}, {"mutants", 1}}, [](double, const auto&) {});
  EXPECT_EQ(refused.status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace holdfast::design_test::design_crash_test
