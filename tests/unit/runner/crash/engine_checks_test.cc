// SPDX-License-Identifier: Apache-2.0
// Does each row of a checks.toml reach the engines it speaks of, and is a wrong row refused with
// its place?
#include "holdfast/runner/crash/engine_checks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::engine_checks_test {
namespace {

namespace fs = std::filesystem;

/// A made-up holdfast/engines: `red` and `green` are built from part `log`, `red` and `pink` share
/// a folder, and `green` also includes the header of `red`.
class EngineChecksTest : public testing::Test {
 protected:
  EngineChecksTest()
      : root_(fs::temp_directory_path() / ("holdfast_checks_" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    write("CMakeLists.txt",
          "holdfast_engine(name) in a function is no row\n"
          "\nholdfast_engine(red engines/red/red.h Red)"
          "\nholdfast_engine(pink engines/red/pink.h Pink)"
          "\nholdfast_engine(green engines/green/green.h Green SIMULATED)\n");
    write("red/red.h", include("parts/log/log.h") + R"(pwb(p, Site{"red.data"});)");
    write("red/pink.h", R"(psync(Site{"pink.sync"});)");
    write("green/green.h", include("parts/log/log.h") + include("red/red.h"));
    write("parts/log/log.h", R"(skips(Site{"log.room"}) || skips(Site{"log.order"}))");
  }
  ~EngineChecksTest() override { fs::remove_all(root_); }

  static std::string include(const std::string& header) {
    return "#include \"holdfast/engines/" + header + "\"\n";
  }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::map<std::string, EngineChecks> load() const { return load_engine_checks(root_).value(); }
  std::string refusal() const {
    const auto loaded = load_engine_checks(root_);
    EXPECT_EQ(loaded.status().code(), Code::invalid_argument);
    return loaded.status().message();
  }
  void expect_refusal(const std::string& row, const std::string& message) const {
    write("red/checks.toml", row);
    EXPECT_NE(refusal().find(message), std::string::npos) << refusal();
    EXPECT_NE(refusal().find("red/checks.toml:1"), std::string::npos) << refusal();
  }

  /// "mutation: bug" for each canary.
  static std::vector<std::string> canaries(const EngineChecks& checks) {
    std::vector<std::string> all;
    for (const Canary& canary : checks.canaries) {
      all.push_back(canary.mutation + ": " + canary.bug);
    }
    return all;
  }

 private:
  fs::path root_;
};

using Texts = std::vector<std::string>;

TEST_F(EngineChecksTest, EveryEngineOfTheRegistryHasChecksWithoutAFile) {
  const auto all = load();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all.at("pink").canaries.empty());
}

TEST_F(EngineChecksTest, ARowAboutALabelOfItsFolderHoldsForAllThatIncludeTheHeader) {
  write("red/checks.toml",
        "[[canary]]\nmutation = \"red.data=drop\"\nbug = \"lost\"\n"
        "needs = { transactions = 12, options = { log = \"5\" } }\n");
  write("parts/log/checks.toml", "[[canary]]\nmutation = \"log.room=drop\"\nbug = \"full\"\n");
  const auto all = load();
  EXPECT_EQ(canaries(all.at("red")), (Texts{"log.room=drop: full", "red.data=drop: lost"}));
  EXPECT_EQ(canaries(all.at("green")), canaries(all.at("red")));
  EXPECT_TRUE(all.at("pink").canaries.empty());
  const Canary& canary = all.at("green").canaries[1];
  EXPECT_EQ(canary.engine, "green");
  EXPECT_EQ(canary.needs["transactions"], 12);
  EXPECT_EQ(canary.needs["options"]["log"], "5");
}

TEST_F(EngineChecksTest, ARowOfTheEnginesOwnFolderReplacesOneOfAPart) {
  write("parts/log/checks.toml", "[[canary]]\nmutation = \"log.room=drop\"\nbug = \"full\"\n");
  write("green/checks.toml", "[[canary]]\nmutation = \"log.room=drop\"\nbug = \"own\"\n");
  EXPECT_EQ(canaries(load().at("green")), Texts{"log.room=drop: own"});
  EXPECT_EQ(canaries(load().at("red")), Texts{"log.room=drop: full"});
}

TEST_F(EngineChecksTest, AnEngineLeavesOutInheritedCanaries) {
  write("parts/log/checks.toml",
        "[[canary]]\nmutation = \"log.room=drop\"\nbug = \"full\"\n"
        "[[canary]]\nmutation = \"log.order=drop\"\nbug = \"mixed\"\n");
  write("green/checks.toml",
        "[[harmless]]\nmutations = [\"log.room=*\"]\nreason = \"endless\"\n"
        "[[unreached]]\nlabel = \"log.o*\"\nreason = \"none\"\n");
  const auto all = load();
  EXPECT_TRUE(all.at("green").canaries.empty());
  ASSERT_EQ(all.at("green").harmless.size(), 5u);
  EXPECT_EQ(all.at("green").harmless[0].mutation, "log.room=delay");
  EXPECT_TRUE(all.at("green").is_unreached("log.order"));
  EXPECT_EQ(all.at("red").canaries.size(), 2u);
  EXPECT_TRUE(all.at("red").harmless.empty());
}

TEST_F(EngineChecksTest, ALabelThatOnlyHuntsMissIsReachedByRuns) {
  write("red/checks.toml",
        "[[unreached]]\nlabel = \"red.data\"\nreason = \"rare\"\nby_hunts_only = true\n"
        "[[canary]]\nmutation = \"red.data=drop\"\nbug = \"lost\"\n");
  const EngineChecks red = load().at("red");
  EXPECT_TRUE(red.is_unreached("red.data", true));
  EXPECT_FALSE(red.is_unreached("red.data"));
  EXPECT_EQ(red.canaries.size(), 1u);
}

TEST_F(EngineChecksTest, ARarePathMayBeArguedAwayForEngineOrPart) {
  write("parts/log/log.h", R"(M::reach(Probe{"log.wraps"}); M::reach(Probe{"log.full"});)");
  write("parts/log/checks.toml", "[[unreached]]\nprobe = \"log.full\"\nreason = \"large\"\n");
  write("green/checks.toml", "[[unreached]]\nprobe = \"log.wraps\"\nreason = \"long\"\n");
  const auto all = load();
  ASSERT_EQ(all.at("red").unreached_probes.size(), 1u);
  EXPECT_EQ(all.at("red").unreached_probes[0].name, "log.full");
  EXPECT_EQ(all.at("green").unreached_probes.size(), 2u);
  EXPECT_TRUE(all.at("pink").unreached_probes.empty());
  expect_refusal("[[unreached]]\nprobe = \"log.fill\"\nreason = \"r\"\n",
                 "no engine of this folder has the probe 'log.fill'");
  expect_refusal("[[unreached]]\nprobe = \"log.full\"\n", "needs 'reason'");
}

TEST_F(EngineChecksTest, RarePathsAreListedBesideTheHeadersThatNameThem) {
  write("parts/log/log.h", R"(M::reach(Probe{"log.wraps"}); M::reach(Probe{"log.full"});)");
  write("parts/log/checks.toml", "[[rare_paths]]\nnames = [\"log.full\", \"log.wraps\"]\n");
  const auto all = load();
  EXPECT_EQ(all.at("red").rare_paths, (std::set<std::string>{"log.full", "log.wraps"}));
  EXPECT_TRUE(all.at("pink").rare_paths.empty());
  expect_refusal("[[rare_paths]]\nnames = [\"log.lost\"]\n",
                 "no engine of this folder has the probe 'log.lost'");
}

TEST_F(EngineChecksTest, RowsAboutRarePathsAreForSuites) {
  write("red/red.h", R"(M::reach(Probe{"red.a"}); M::reach(Probe{"red.b"});)"
                     R"(M::reach(Probe{"red.c"});)");
  write("red/checks.toml",
        "[[unreached]]\nprobe = \"red.a\"\nreason = \"r\"\n"
        "[[unreached]]\nprobe = \"red.b\"\nreason = \"r\"\nsuites = [\"crash\", \"native\"]\n"
        "[[unreached]]\nprobe = \"red.c\"\nreason = \"r\"\nsuites = [\"native\"]\n"
        "by_chance = true\n"
        "[[variant]]\nname = \"both\"\n"
        "[[variant]]\nname = \"simulated\"\nsuites = [\"crash\"]\n"
        "[[variant]]\nname = \"here\"\nsuites = [\"native\"]\n");
  const EngineChecks red = load().at("red");
  const auto names = [](const auto& rows) {
    std::string all;
    for (const auto& row : rows) {
      all += row.name + " ";
    }
    return all;
  };
  EXPECT_EQ(names(red.unreached_probes), "red.a red.b ");
  EXPECT_EQ(names(red.native_unreached_probes), "red.b red.c ");
  EXPECT_FALSE(red.native_unreached_probes.at(0).by_chance);
  EXPECT_TRUE(red.native_unreached_probes.at(1).by_chance);
  EXPECT_EQ(names(red.variants), "both simulated ");
  EXPECT_EQ(names(red.native_variants), "both here ");
  write("red/checks.toml", "");
  expect_refusal("[[variant]]\nname = \"a\"\nsuites = [\"engine\"]\n",
                 "there is no suite 'engine'");
}

TEST_F(EngineChecksTest, RowsAboutNoLabelHoldForTheFolder) {
  write("red/checks.toml",
        "[[variant]]\nname = \"full\"\noptions = { log = \"1\" }\nrmw_orders_pwb = false\n"
        "program = \"b0 ; w1\"\nparams = { boxed = \"0\" }\n"
        "[[variant]]\nengines = [\"pink\"]\nname = \"rosy\"\n"
        "[[finding]]\nkind = \"empty_fence\"\nwhere = \"a\"\nreason = \"b\"\n"
        "[[order]]\nstores = [0, 9]\nphases = [\"execute\", \"log flush\"]\n"
        "[[phase]]\nsite = \"red.data\"\nphase = \"marker flush\"\n");
  const auto all = load();
  const EngineChecks& red = all.at("red");
  ASSERT_EQ(red.variants.size(), 1u);
  EXPECT_EQ(red.variants[0].options, (Options{{"log", "1"}}));
  EXPECT_FALSE(red.variants[0].rmw_orders_pwb);
  EXPECT_EQ(red.variants[0].program, "b0 ; w1");
  EXPECT_EQ(red.variants[0].params.at("boxed"), "0");
  EXPECT_EQ(all.at("pink").variants.at(1).name, "rosy");
  EXPECT_EQ(red.findings.at(0).kind, LintKind::empty_fence);
  EXPECT_EQ(red.orders.at(0).stores, (std::vector<int>{0, 9}));
  EXPECT_EQ(red.orders.at(0).phases, (std::vector<Phase>{Phase::execute, Phase::log_flush}));
  EXPECT_EQ(red.phases.at(0).phase, Phase::marker_flush);
  EXPECT_EQ(all.at("green").variants.size(), 0u);
  EXPECT_EQ(all.at("green").phases.size(), 1u) << "it includes the header with the label";
}

TEST_F(EngineChecksTest, AWrongRowIsRefusedWithItsPlace) {
  expect_refusal("[[canery]]\nmutation = \"red.data=drop\"\n",
                 "there is no table 'canery'; there are canary, finding");
  expect_refusal("[[canary]]\nmutation = \"red.data=drop\"\nbug = \"b\"\nneed = {}\n",
                 "has no field 'need'");
  expect_refusal("[[canary]]\nmutation = \"red.data=drop\"\n", "needs 'bug'");
  expect_refusal("[[canary]]\nbug = \"b\"\n", "either a mutation or a setting");
  expect_refusal("[[canary]]\nmutation = \"red.data\"\nbug = \"b\"\n",
                 "drop, delay, swap, first or last");
  expect_refusal("[[canary]]\nmutation = \"red.date=drop\"\nbug = \"b\"\n",
                 "no engine of this folder has the label 'red.date'");
  expect_refusal("[[variant]]\nengines = [\"blue\"]\nname = \"n\"\n",
                 "there is no engine 'blue'; there are red, pink, green");
  expect_refusal("[[canary]]\nengines = [\"pink\"]\nmutation = \"red.data=drop\"\nbug = \"b\"\n",
                 "engine pink has no label 'red.data'");
  expect_refusal("[[phase]]\nsite = \"red.data\"\nphase = \"sleep\"\n",
                 "there is no phase 'sleep'; there are outside, execute");
  expect_refusal("[[finding]]\nkind = \"odd\"\nwhere = \"a\"\nreason = \"b\"\n",
                 "there is no finding 'odd'; there are not_written_back");
  expect_refusal("[[unreached]]\nlabel = \"blue*\"\nreason = \"b\"\n",
                 "no label begins with 'blue'");
  expect_refusal("canary = \"red\"\n", "is no array of tables");
  expect_refusal("[[canary]\n", "");
}

TEST_F(EngineChecksTest, TwoRowsAboutOneThingAreRefused) {
  const std::string row = "[[canary]]\nmutation = \"red.data=drop\"\nbug = \"b\"\n";
  write("red/checks.toml", row + row);
  EXPECT_NE(refusal().find("red/checks.toml:4: [[canary]] a second row about red.data=drop"),
            std::string::npos)
      << refusal();
}

TEST_F(EngineChecksTest, ACanaryAtALabelThatTheNamedEngineNeverReachesIsRefused) {
  write("red/checks.toml",
        "[[unreached]]\nlabel = \"red.data\"\nreason = \"r\"\n"
        "[[canary]]\nengines = [\"red\"]\nmutation = \"red.data=drop\"\nbug = \"b\"\n");
  EXPECT_NE(refusal().find("names engine red, which never reaches red.data"), std::string::npos)
      << refusal();
}

TEST_F(EngineChecksTest, ABugThatIsHarmlessInTheUsualSettingMayHaveACanaryThatNamesTheEngine) {
  write("red/checks.toml",
        "[[harmless]]\nmutations = [\"red.data=drop\"]\nreason = \"r\"\n"
        "[[canary]]\nengines = [\"red\"]\nmutation = \"red.data=drop\"\nbug = \"b\"\n");
  const auto all = load();
  EXPECT_EQ(all.at("red").canaries.size(), 1u);
  EXPECT_EQ(all.at("red").harmless.size(), 1u);
}

TEST_F(EngineChecksTest, APartHasRowsAboutLabelsOnly) {
  write("parts/log/checks.toml", "[[variant]]\nname = \"n\"\n");
  EXPECT_NE(refusal().find("a part has rows about labels only"), std::string::npos) << refusal();
}

TEST(EngineChecks, TheSourceTreeHasThemForEveryEngineThatIsBuilt) {
  const auto all = load_engine_checks();
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  for (const auto& row : engine_rows<SimMachine>()) {
    EXPECT_EQ(all.value().count(row.description->name), 1u) << row.description->name;
  }
}

}  // namespace
}  // namespace holdfast::engine_checks_test
