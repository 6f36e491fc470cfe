// SPDX-License-Identifier: Apache-2.0
//
// Is every reachable image after a crash recoverable, and does it hold what was promised? Small
// programs, every crash point, thousands of schedules; deterministic, sized to about 20 seconds for
// an engine and a domain. Prints what was covered.
#include "holdfast/runner/crash/crash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/crash/crash_registers.h"
#include "holdfast/workloads/catalogue.h"
#include "tests/sanitized.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::crash_test {
namespace {

using engine_rows_test::row_of;

/// Facts that a search reports beside violations.
struct Found {
  uint64_t too_large = 0;  ///< updates that a log was too small for
  uint64_t lost_max = 0;   ///< most acknowledged updates that a crash has lost
  ProbesTaken probes;      ///< rare paths
};

/// Runs the search, prints its coverage, and fails with the counter-example.
void expect_no_violation(const std::string& what, Json spec, Found* found = nullptr) {
  spec["schedules"] = std::max(1, spec["schedules"].get<int>() / kShare);
  if (kSanitized) {  // a few crash points of a schedule, the first one, too, and two images at each
    spec["events"] = spec.value("events", 100);
    spec["points"] = std::min(5, spec.value("points", 5));
    spec["images"] = 2;
  }
  auto result = crash(spec, [](double, const std::string&) {});
  ASSERT_TRUE(result.ok()) << what << ": " << result.status().to_string();
  const Json& report = *result;
  const Json& c = report["coverage"];
  std::printf(
      "%-46s %5d schedules, %6d crash points, images explored / legal %d / %.3g, %d recovered, "
      "%d crash points in recovery, %d run on\n",
      what.c_str(), c["schedules"].get<int>(), c["points"].get<int>(), c["explored"].get<int>(),
      c["legal"].get<double>(), c["images"].get<int>(), c["recovery_points"].get<int>(),
      c["continued"].get<int>());
  EXPECT_GT(c["points"].get<int>(), 0);
  if (found != nullptr) {
    found->too_large += c["too_large"].get<uint64_t>();
    found->lost_max = std::max(found->lost_max, report["lost_max"].get<uint64_t>());
    for (const auto& [name, count] : report["probes"].items()) {
      found->probes[name] += count.get<uint64_t>();
    }
  }
  for (const Json& violation : report["violations"]) {
    ADD_FAILURE() << what << ": " << violation["name"].get<std::string>() << " ("
                  << violation["phase"].get<std::string>() << ")\n"
                  << violation["text"].get<std::string>() << violation["program"].get<std::string>()
                  << "\n"
                  << violation["story"].get<std::string>() << "again: " << violation["replay"];
  }
}

struct Case {
  std::string engine;
  Domain domain;
  bool journal = false;
};

std::string world_of(const Case& c) {
  return c.journal ? "journal" : to_string(c.domain);
}

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.engine << " " << world_of(c);
}

/// Such an engine runs on described machines, with a design.
bool needs_design(const std::string& engine) {
  return row_of(engine).description->needs_design;
}

Json base(const Case& c) {
  Json spec = {{"engine", c.engine},
               {"domain", to_string(c.domain)},
               {"journal", c.journal},
               {"minimise", false}};
  if (needs_design(c.engine)) {
    spec["design"] = design_test::durable_design();
    spec["machine"] = "tiny";
  }
  return spec;
}

/// Every schedule of a program over two words, within bounds still to be given.
Json exhaustive(const Case& c, const char* program) {
  Json spec = base(c);
  spec["schedule"] = "exhaustive";
  spec["program"] = program;
  spec["params"] = {{"registers", "2"}, {"boxed", "0"}, {"prelude", "0"}};
  return spec;
}

std::string name_of(const Case& c, const char* what) {
  return c.engine + "/" + world_of(c) + ", " + what;
}

/// The durable engines with every domain that they run in; a design has those of persistent memory
/// only. Those that run over a journal have domain `file` with one, too. Under a sanitizer only the
/// first engine has all of its domains, others their usual one.
std::vector<Case> cases(bool with_designs) {
  std::vector<Case> all;
  for (const auto& row : engine_rows<SimMachine>()) {
    const Description& engine = *row.description;
    if (!is_durable(engine) || (engine.needs_design && !with_designs)) {
      continue;
    }
    for (const Domain domain : {Domain::process, Domain::file, Domain::pmem, Domain::eadr}) {
      const bool designed = domain == Domain::pmem || domain == Domain::eadr;
      const bool again = !all.empty() && all.front().engine != engine.name;
      if (kSanitized && again && domain != usual_domain(engine)) {
        continue;
      }
      if (engine.needs_design ? designed : engine.runs_in(domain)) {
        all.push_back({engine.name, domain});
      }
    }
    if (engine.check_journal().ok() && (!kSanitized || all.front().engine == engine.name)) {
      all.push_back({engine.name, Domain::file, true});
    }
  }
  return all;
}

/// Whether the engine's usual domain is this one: for tests that take each engine once.
bool is_usual(const Case& c) {
  return c.domain == usual_domain(*row_of(c.engine).description);
}

std::vector<std::string> durable_engines() {
  std::vector<std::string> all;
  for (const Case& c : cases(true)) {
    if (is_usual(c)) {
      all.push_back(c.engine);
    }
  }
  return all;
}

class Crash : public testing::TestWithParam<Case> {};
/// Without hw: a design runs in simulated time, which has one schedule.
class CrashExhaustive : public testing::TestWithParam<Case> {};

/// Whether the case has all schedules of a search.
bool is_whole(const Case& c) {
  return is_usual(c) && !c.journal;
}

/// In its usual domain an engine has all schedules of a search. The others have the first part of
/// them, one of `share`: they differ in what a crash leaves, not in how threads meet.
int share_of(const Case& c, int schedules, int share) {
  return is_whole(c) ? schedules : std::max(1, schedules / share);
}

/// Three threads with one transaction each: every crash point, up to 16 images at each.
void search_every_point(const Case& c, int seed, int schedules) {
  Json spec = base(c);
  spec["seed"] = seed;
  spec["schedules"] = schedules;
  spec["points"] = 300;  // all, but for an engine that copies its whole heap line by line
  spec["params"] = {{"transactions", "1"}};
  expect_no_violation(name_of(c, "3 x 1"), spec);
}

/// The kinds of schedule repeat every 18 seeds; this is five times each, or once.
TEST_P(Crash, EveryPointOfManySchedules) {
  search_every_point(GetParam(), 1, share_of(GetParam(), 90, 3) / 18 * 18);
}

TEST_P(Crash, LongEveryPointOfManySchedules) {
  search_every_point(GetParam(), 1000, 500);
}

/// Six transactions each: logs wrap around, replayers run and the lock is taken.
void search_logs_that_wrap(const Case& c, int seed, int schedules) {
  Json spec = base(c);
  spec.update({{"seed", seed}, {"schedules", share_of(c, schedules, 3)}});
  spec.update({{"points", 40}, {"images", 4}});
  spec["params"] = {{"transactions", "6"}, {"registers", "6"}, {"boxed", "2"}, {"blind", "10"}};
  expect_no_violation(name_of(c, "3 x 6"), spec);
}

TEST_P(Crash, SampledPointsOfLogsThatWrap) {
  search_logs_that_wrap(GetParam(), 1, 36);
}

/// Beside words, ranges with any alignment and of any length up to half a small log, in
/// transactions of very different sizes.
TEST_P(Crash, RangesOfManyLengths) {
  Json spec = base(GetParam());
  spec["schedules"] = share_of(GetParam(), 32, 2);
  spec["points"] = 40;
  spec["images"] = 4;
  spec["params"] = {{"transactions", "4"}, {"ranges", "60"}};
  expect_no_violation(name_of(GetParam(), "ranges"), spec);
}

/// The first schedules of a tiny program, in order, with at most two preemptions and one early
/// store; there are more than so many.
TEST_P(CrashExhaustive, FirstSchedulesOfATinyProgram) {
  Json spec = exhaustive(GetParam(), "w0 w1 | s");
  spec["schedules"] = 500;
  spec["preemptions"] = 2;
  spec["drains"] = 1;
  spec["points"] = 100;
  expect_no_violation(name_of(GetParam(), "exhaustive"), spec);
}

/// A longer program, in which logs wrap around: every schedule in which one thread is delayed once
/// until the others are done. All of them, but for an engine that copies its whole heap.
TEST_P(CrashExhaustive, OneDelayAnywhere) {
  Json spec = exhaustive(GetParam(), "b0 ; b1 ; b0 ; w1 ; b0 ; b1 ; w0 ; b1 | w0 ; s | b0 b1");
  spec["machine"] = "tiny";
  spec["delays"] = 1;
  spec["schedules"] = 1000;
  spec["points"] = 4;
  spec["images"] = 2;
  expect_no_violation(name_of(GetParam(), "one delay"), spec);
}

class CrashFullLog : public testing::TestWithParam<std::string> {};

/// Returns whether a log of the searches holds an update of so many pieces.
bool fits(const std::string& engine, int pieces) {
  Json spec = base({engine, usual_domain(*row_of(engine).description)});
  spec["schedules"] = 1;
  spec["point"] = 0;
  spec["program"] = "B0-" + std::to_string(pieces - 1);
  const Json report = crash(spec, [](double, const std::string&) {}).value();
  EXPECT_TRUE(report["violations"].empty()) << engine << ", " << pieces;
  return report["coverage"]["too_large"] == 0;
}

constexpr int kMostPieces = 380;

/// Returns the most pieces of an update that fits, or kMostPieces.
int most_pieces(const std::string& engine) {
  if (fits(engine, kMostPieces)) {
    return kMostPieces;
  }
  int low = 1;
  int high = kMostPieces - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (fits(engine, middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Updates that fill a log to its last word, and those that are just too large. A few words more
/// reach the sizes between those of ranges.
TEST_P(CrashFullLog, HoldsOrRefusesTheLargestUpdates) {
  const std::string& engine = GetParam();
  const int most = most_pieces(engine);
  std::printf("%s: updates of up to %d pieces\n", engine.c_str(), most);
  Found found;
  for (const char* words : {"", " b0", " b0 b1", " b0 b1 b2"}) {
    for (const int more : {-2, -1, 0, 1}) {
      if (most == kMostPieces && more < 0) {
        continue;  // no log is full, so all lengths are alike
      }
      const std::string update = "B0-" + std::to_string(most - 1 + more) + words;
      Json spec = base({engine, usual_domain(*row_of(engine).description)});
      spec["schedules"] = 6;
      spec["events"] = 5000;
      spec["points"] = 8;
      spec["images"] = 3;
      spec["program"] = "b0 ; " + update + " ; w1 ; " + update + " ; R0-9 | w0 B3-5 ; w2";
      expect_no_violation(engine + ", " + update, spec, &found);
    }
  }
  EXPECT_EQ(found.too_large > 0, most < kMostPieces);
}

INSTANTIATE_TEST_SUITE_P(Engines, CrashFullLog, testing::ValuesIn(durable_engines()),
                         [](const auto& instance) { return test_name(instance.param); });

/// Runs that go on after a recovery are no part of the schedules that are searched in order.
TEST(CrashExhaustiveGoesOn, AndFollowsItsSchedules) {
  Json spec = {{"engine", engine_rows<SimMachine>().front().description->name},
               {"schedule", "exhaustive"},
               {"schedules", 200},
               {"preemptions", 1},
               {"points", 20},
               {"images", 4},
               {"go_on", 1},
               {"program", "w0 w1 ; w1 | s"}};
  spec["params"] = {{"registers", "2"}, {"boxed", "0"}, {"prelude", "0"}};
  auto result = crash(spec, [](double, const std::string&) {});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_TRUE((*result)["violations"].empty());
  EXPECT_GT((*result)["coverage"]["continued"].get<int>(), 10);
}

/// Described machines: short caches and queues, long lines, caches that survive.
void search_described_machines(const Case& c, int seed, int schedules) {
  for (const char* machine : {"tiny", "power9", "sapphire-rapids"}) {
    for (const char* schedule : {"timed", "random"}) {
      Json spec = base(c);
      if (needs_design(c.engine) && std::string(schedule) == "random") {
        continue;
      }
      spec.update({{"machine", machine}, {"schedule", schedule}, {"seed", seed}});
      spec.update({{"schedules", share_of(c, schedules, 2)}, {"points", 30}, {"images", 4}});
      expect_no_violation(name_of(c, machine) + " " + schedule, spec);
    }
  }
}

TEST_P(Crash, OnDescribedMachines) {
  search_described_machines(GetParam(), 1, 8);
}

TEST_P(Crash, LongSearchOfLogsThatWrapAndDescribedMachines) {
  search_logs_that_wrap(GetParam(), 1000, 240);
  search_described_machines(GetParam(), 1000, 60);
}

struct Structure {
  const char* workload;
  std::map<std::string, std::string> parameters;
};

/// Every workload with a sequential model, over each structure that it can have. Presets run the
/// code of others, and the random programs of crash_registers_info() have tests of their own.
std::vector<Structure> structures() {
  std::vector<Structure> all;
  for (const WorkloadInfo* info : workload_infos()) {
    if (info->has_model && info->preset_of == nullptr &&
        info->name != std::string(crash_registers_info().name)) {
      for (const auto& variant : root_variants(*info)) {
        all.push_back({info->name, variant});
      }
    }
  }
  return all;
}

/// All structures. Under a sanitizer an engine has a fifth of them, and the engines together all.
std::vector<Structure> structures_of(const std::string& engine) {
  std::vector<Structure> all = structures();
  size_t turn = engine.size();
  std::erase_if(all, [&](const Structure&) { return kSanitized && ++turn % 5 != 0; });
  return all;
}

/// In its usual domain an engine has all schedules. The others have a quarter each, and not the
/// same: a structure knows no domain, and the programs above search each engine in all of its own.
void search_structures(const Case& c, int schedules, int points, int images) {
  const int share = share_of(c, schedules, 4);
  const int seed = is_whole(c) ? 1 : 1000 * (2 + static_cast<int>(c.domain) + (c.journal ? 10 : 0));
  for (const Structure& structure : structures_of(c.engine)) {
    Json spec = base(c);
    spec["workload"] = structure.workload;
    spec["params"] = structure.parameters;
    spec["schedules"] = share;
    spec["seed"] = seed;
    spec["points"] = points;
    spec["images"] = images;
    std::string name = name_of(c, structure.workload);
    for (const auto& [parameter, value] : structure.parameters) {
      name.append(" ").append(value);
    }
    expect_no_violation(name, spec);
  }
}

/// The structures, judged by what their clients were told.
TEST_P(Crash, Structures) {
  search_structures(GetParam(), 6, 40, 4);
}

/// Programs that keep boxes and store without loading, with as many transactions as they have
/// threads. Each crash is recovered from, crashed in its recovery, and gone on from.
void search_registers(const Case& c, int seed, int schedules, int points, int images) {
  Json spec = base(c);
  spec["seed"] = seed;
  spec["schedules"] = schedules;
  spec["points"] = points;
  spec["images"] = images;
  spec["crash_recovery"] = images;
  spec["go_on"] = images;
  spec["params"] = {{"transactions", "3"}, {"boxed", "2"}, {"blind", "5"}};
  expect_no_violation(name_of(c, "3 x 3"), spec);
}

/// A slice of the long search, with other seeds.
TEST_P(Crash, Registers) {
  search_registers(GetParam(), 200'000, 3, 50, 8);
}

/// With LongSearchOfStructures and the kill tests meant to take an hour on two cores, all engines
/// and domains together.
TEST_P(Crash, LongSearchOfRegisters) {
  search_registers(GetParam(), 100'000, 150, 150, 32);  // schedules of 0.1 to 1 s each
}

TEST_P(Crash, LongSearchOfStructures) {
  search_structures(GetParam(), 60, 150, 16);
}

class CrashNeighbours : public testing::TestWithParam<std::string> {};

/// An update that throws tells its caller what it has read, here a word beside one that it wrote.
TEST_P(CrashNeighbours, AnExceptionTellsWhatSurvives) {
  Json spec = base({GetParam(), usual_domain(*row_of(GetParam()).description)});
  spec["program"] = "B1 | x B0 R1";
  spec["params"] = {{"boxed", "0"}};
  spec["schedules"] = 36;
  spec["events"] = 400;
  spec["points"] = 40;
  spec["images"] = 4;
  expect_no_violation(GetParam() + ", neighbours", spec);
}

INSTANTIATE_TEST_SUITE_P(Engines, CrashNeighbours, testing::ValuesIn(durable_engines()),
                         [](const auto& instance) { return test_name(instance.param); });

class CrashVariants : public testing::TestWithParam<std::string> {};

/// A search with a setting that takes other paths, and `times` its schedules.
void search_variant(const std::string& engine, const EngineVariant& setting, int times,
                    Found* found) {
  Json spec = base({engine, usual_domain(*row_of(engine).description)});
  if (setting.journal) {
    spec["domain"] = to_string(Domain::file);
    spec["journal"] = true;
  }
  if (!setting.design.empty()) {
    spec["design"] = setting.design;
    spec.erase("domain");  // the design knows
  }
  spec["design_options"] = setting.design_options;
  spec["options"] = setting.options;
  spec["rmw_orders_pwb"] = setting.rmw_orders_pwb;
  if (!setting.workload.empty()) {
    spec["workload"] = setting.workload;
  }
  spec["schedules"] = times * setting.schedules;
  spec["events"] = 400;  // else the first schedule has all its points
  spec["points"] = 24;
  spec["images"] = 4;
  spec["program"] = setting.program;
  auto params = setting.params;
  if (!setting.transactions.empty()) {
    params.try_emplace("transactions", setting.transactions);
  }
  spec["params"] = params;
  expect_no_violation(engine + ", " + setting.name, spec, found);
}

/// The settings of an engine that take rare paths, and atomics that order no write-backs. Together
/// they take each path that the engine's sources name.
void search_variants(const std::string& engine, int times) {
  Found found;
  search_variant(engine, {.name = "usual", .options = {}, .transactions = "3", .schedules = 20},
                 times, &found);
  if (!needs_design(engine)) {
    search_variant(
        engine, {.name = "weak_rmw", .options = {}, .rmw_orders_pwb = false, .transactions = "3"},
        times, &found);
  }
  for (const EngineVariant& setting : checks_of(engine).variants) {
    search_variant(engine, setting, times, &found);
  }
  expect_taken(engine, probes_of(engine), checks_of(engine).unreached_probes, found.probes);
}

TEST_P(CrashVariants, TakeEachRarePath) {
  search_variants(GetParam(), 1);
}

TEST_P(CrashVariants, LongTakeEachRarePath) {
  search_variants(GetParam(), 4);
}

INSTANTIATE_TEST_SUITE_P(Engines, CrashVariants, testing::ValuesIn(durable_engines()),
                         [](const auto& instance) { return test_name(instance.param); });

/// The engines whose options let durability lag: by themselves, and over a journal.
std::vector<Case> cases_that_lag() {
  std::vector<Case> all;
  for (const auto& row : engine_rows<SimMachine>()) {
    const Description& engine = *row.description;
    if (engine.lags) {
      all.push_back({engine.name, Domain::pmem});
    }
    if (engine.promise != nullptr && engine.check_journal().ok()) {
      all.push_back({engine.name, Domain::file, true});
    }
  }
  return all;
}

class CrashLag : public testing::TestWithParam<Case> {
 protected:
  /// A search in which a crash loses `least` acknowledged updates or more, and none more than
  /// `most`. Returns the most that it has lost.
  uint64_t expect_lost(uint64_t least, uint64_t most, const Json& options, Json spec) const {
    spec.update(base(GetParam()));
    spec["options"] = options;
    const std::string what = name_of(GetParam(), "") + spec.value("workload", "") + options.dump();
    Found found;
    expect_no_violation(what, spec, &found);
    EXPECT_LE(found.lost_max, most) << what;
    EXPECT_TRUE(found.lost_max >= least || kShare > 1) << what << ": " << found.lost_max;
    return found.lost_max;
  }
};

TEST_P(CrashLag, LosesUpToTheBoundAndNoMore) {
  const Json spec = {
      {"schedules", 60}, {"points", 60}, {"images", 8}, {"params", {{"transactions", "3"}}}};
  expect_lost(2, 2, {{"lag", "2"}}, spec);
  expect_lost(4, 4, {{"lag", "4"}}, spec);
  expect_lost(0, 0, {{"lag", "0"}}, spec);
  expect_lost(0, 0, {{"lag", "4"}, {"commit", "durable"}}, spec);
}

TEST_P(CrashLag, DurableCommitsAndFencesAreFloors) {
  const Json spec = {
      {"schedules", 60},
      {"points", 60},
      {"images", 8},
      {"params", {{"transactions", "4"}, {"durable", "20"}, {"fences", "15"}, {"throws", "15"}}}};
  expect_lost(1, 4, {{"lag", "4"}}, spec);
  // Updates are durable, some of them later.
  Json some = spec;
  some["params"]["later"] = "50";
  expect_lost(1, 3, {{"lag", "3"}, {"commit", "durable"}}, some);
}

/// Where updates without a word are durable, so is what precedes one that stores nothing.
TEST_P(CrashLag, AnUpdateWithoutAStoreIsAFloor) {
  const Json spec = {{"program", "l b0 ; u r1"}, {"schedules", 36}, {"points", 60}, {"images", 8}};
  expect_lost(1, 3, {{"lag", "3"}, {"commit", "durable"}}, spec);
}

TEST_P(CrashLag, Structures) {
  uint64_t lost = 0;
  for (const Structure& structure : structures_of(GetParam().engine)) {
    const Json spec = {{"workload", structure.workload},
                       {"params", structure.parameters},
                       {"schedules", 8},
                       {"points", 40},
                       {"images", 4}};
    lost = std::max(lost, expect_lost(0, 2, {{"lag", "2"}}, spec));
  }
  EXPECT_TRUE(lost > 0 || kShare > 1);
}

std::vector<Case> cases_that_lag_by_positions() {
  std::vector<Case> all = cases_that_lag();
  std::erase_if(all, [](const Case& c) { return row_of(c.engine).description->lags; });
  return all;
}

/// Engines that lag by positions. The others have waits of their own; checks.toml has their bugs.
class CrashPositionLag : public testing::TestWithParam<Case> {};

/// Waits of PositionLag, left out.
TEST_P(CrashPositionLag, APlantedBugIsFound) {
  struct Bug {
    const char* wait;
    Json options;
    Json params;
  };
  const Bug bugs[] = {
      {"lag.credits", {{"lag", "1"}}, {{"transactions", "4"}}},
      {"lag.durable.wait", {{"lag", "8"}}, {{"transactions", "4"}, {"durable", "40"}}},
      {"lag.fence.wait", {{"lag", "8"}}, {{"transactions", "4"}, {"fences", "40"}}},
  };
  for (const Bug& bug : bugs) {
    Json spec = base(GetParam());
    spec["mutations"] = {std::string(bug.wait) + "=drop"};
    spec["options"] = bug.options;
    spec["params"] = bug.params;
    spec["schedules"] = 60;
    spec["points"] = 60;
    spec["images"] = 8;
    auto report = crash(spec, [](double, const std::string&) {});
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    EXPECT_FALSE((*report)["violations"].empty()) << name_of(GetParam(), bug.wait);
  }
}

/// Write skew is allowed under snapshot isolation, and must be found there; never where opacity is
/// promised.
TEST(CrashSkew, IsFoundUnderSnapshotIsolationOnly) {
  for (const auto& row : engine_rows<SimMachine>()) {
    if (needs_design(row.description->name) || !is_durable(*row.description)) {
      continue;
    }
    const Json spec = {{"engine", row.description->name},
                       {"schedules", 400 / kShare},
                       {"points", 1},
                       {"images", 1},
                       {"program", "r0 w1 | r1 w0"},
                       {"isolation", "opaque"},
                       {"params", {{"registers", "2"}, {"boxed", "0"}, {"marks", "0"}}},
                       {"minimise", false}};
    auto result = crash(spec, [](double, const std::string&) {});
    ASSERT_TRUE(result.ok()) << result.status().to_string();
    const Json& violations = (*result)["violations"];
    if (row.description->isolation == Isolation::snapshot) {
      ASSERT_TRUE(kSanitized || !violations.empty()) << row.description->name;
      for (const Json& violation : violations) {
        EXPECT_EQ(violation["name"], "write skew") << violation["text"];
      }
    } else {
      EXPECT_TRUE(violations.empty()) << row.description->name << ": " << violations[0]["text"];
    }
  }
}

/// The labels of write-backs that are reached only while a heap is made.
std::vector<std::string> write_backs_of_creation(const std::string& engine) {
  const Json report =
      crash({{"engine", engine}, {"sites", true}, {"schedules", 1}}, [](double,
                                                                        const std::string&) {
      }).value();
  std::vector<std::string> labels;
  for (const Json& site : report["sites"]) {
    if (site["only_in_creation"].get<bool>() && site["kind"] == to_string(SiteKind::write_back)) {
      labels.push_back(site["name"]);
    }
  }
  return labels;
}

/// Bugs are planted while the heap is made, too, and the power fails when that is done. Which
/// engines have such a bug depends on what the heap writes back after them.
TEST(CrashCreation, AHeapWhoseFormatIsNotDurableIsFound) {
  int found = 0;
  int turn = 0;
  for (const Case& c : cases(false)) {
    if (!is_usual(c) || (kSanitized && ++turn % 5 != 0)) {
      continue;
    }
    for (const std::string& label : write_backs_of_creation(c.engine)) {
      const Json spec = {{"engine", c.engine}, {"mutations", {label + "=drop"}}, {"schedules", 1}};
      const Json report = crash(spec, [](double, const std::string&) {}).value();
      EXPECT_GT(report["mutated_in_creation"].get<int>(), 0) << label;
      EXPECT_EQ(report["mutated"].get<int>(), 0) << label;
      for (const Json& violation : report["violations"]) {
        EXPECT_EQ(violation["phase"], "creation") << label;
        ++found;
      }
    }
  }
  EXPECT_TRUE(kSanitized || found > 0);
}

TEST(CrashJournal, EarlyReadersOfStructuresMayHaveSeenWhatIsLost) {
  const Options options = {{"lag", "1"}, {"commit", "durable"}};
  for (const Case& c : cases(false)) {
    const Description& engine = *row_of(c.engine).description;
    const bool known = c.journal && engine.area_bytes(options, 1).ok();
    for (const Structure& structure : structures_of(c.engine)) {
      if (known && !engine.promised(options, true).observed) {
        Json spec = base(c);
        spec.update({{"options", options}, {"schedules", 10}, {"points", 24}, {"images", 4}});
        spec.update({{"workload", structure.workload}, {"params", structure.parameters}});
        expect_no_violation(name_of(c, structure.workload), spec);
      }
    }
  }
}

std::string name_of_case(const testing::TestParamInfo<Case>& instance) {
  return test_name(instance.param.engine + "_" + world_of(instance.param));
}

INSTANTIATE_TEST_SUITE_P(Engines, Crash, testing::ValuesIn(cases(true)), name_of_case);
INSTANTIATE_TEST_SUITE_P(Engines, CrashExhaustive, testing::ValuesIn(cases(false)), name_of_case);
INSTANTIATE_TEST_SUITE_P(Engines, CrashLag, testing::ValuesIn(cases_that_lag()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Engines, CrashPositionLag,
                         testing::ValuesIn(cases_that_lag_by_positions()), name_of_case);

}  // namespace
}  // namespace holdfast::crash_test
