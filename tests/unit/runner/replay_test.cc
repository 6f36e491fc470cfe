// SPDX-License-Identifier: Apache-2.0
//
// Does the runner measure the log replay that was asked for, and only that?
#include "holdfast/runner/bench/replay.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/sim/simulate.h"
#include "tests/engine_options.h"

namespace holdfast::replay_test {
namespace {

const Progress kQuiet = [](double, const std::string&) {};

/// The engines whose logs are replayed as a job of their own.
std::vector<std::string> replaying() {
  return names_of(engine_rows<SimMachine>(), [](const auto& row) { return row.replays; });
}

Json spec(const Json& more) {
  Json spec = {{"workload", "sps"},
               {"params", {{"entries", 16000}, {"stores", 20}}},
               {"engines", {replaying().at(0)}},
               {"threads", {2}},
               {"replayers", {1}},
               {"transactions", 40}};
  spec.update(more);
  return spec;
}

Json simulated(const Json& more) {
  Json one = spec(more);
  one.update({{"machine", "tiny"}, {"cache", "off"}});
  return simulate(one, kQuiet).value()["benchmarks"];
}

TEST(RunnerReplay, EveryTransactionOfTheLogsIsReplayedOnce) {
  for (const std::string& engine : replaying()) {
    SCOPED_TRACE(engine);
    const Json list = simulated({{"engines", {engine}}, {"replayers", {1, 2}}});
    ASSERT_EQ(list.size(), 2u);
    for (const Json& entry : list) {
      ASSERT_FALSE(entry.contains("error_message")) << entry.dump(1);
      EXPECT_EQ(entry["iterations"], 80);
      EXPECT_EQ(entry["check"], "ok");
      EXPECT_EQ(entry["bytes_written"].get<uint64_t>(), 8 * entry["words"].get<uint64_t>());
      EXPECT_GT(entry["items_per_second"].get<double>(), 0);
      EXPECT_GT(entry["persist"]["pwb"].get<uint64_t>(), 0u);
    }
    EXPECT_EQ(list[0]["words"], list[1]["words"]);
    EXPECT_LT(list[1]["simulated_seconds"].get<double>(),
              list[0]["simulated_seconds"].get<double>())
        << "two replayers are faster than one";
  }
}

TEST(RunnerReplay, ATimeFillsTheLogsAsWell) {
  Json one = spec({{"machine", "tiny"}, {"cache", "off"}, {"duration_us", 20}});
  one.erase("transactions");
  const Json entry = simulate(one, kQuiet).value()["benchmarks"][0];
  ASSERT_FALSE(entry.contains("error_message")) << entry.dump(1);
  EXPECT_GT(entry["iterations"].get<int>(), 2);
}

TEST(RunnerReplay, AFullLogIsAnError) {
  const Json entry = simulated({{"options", {{"log_bytes", 2048}}}})[0];
  ASSERT_TRUE(entry.contains("error_message"));
  EXPECT_NE(entry["error_message"].get<std::string>().find("log_bytes"), std::string::npos);
}

TEST(RunnerReplay, AnEngineWithoutSuchALogIsRefused) {
  const std::string other = first_of(engine_rows<SimMachine>(), [](const auto& row) {
    return is_durable(*row.description) && !row.replays;
  });
  for (const auto& result : {simulate(spec({{"machine", "tiny"}, {"engines", {other}}}), kQuiet),
                             replay(spec({{"engines", {other}}}), kQuiet)}) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), Code::unsupported);
    EXPECT_NE(result.status().message().find(replaying().at(0)), std::string::npos)
        << "names those that do";
  }
}

TEST(RunnerReplay, OnThisComputerTheHomeIsCheckedAfterwards) {
  const Json asked =
      spec({{"engines", replaying()}, {"replayers", {1, 2}}, {"repetitions", 3}, {"filter", true}});
  const Json report = replay(asked, kQuiet).value();
  ASSERT_EQ(report["benchmarks"].size(), 2 * replaying().size());
  for (const Json& entry : report["benchmarks"]) {
    ASSERT_FALSE(entry.contains("error_message")) << entry.dump(1);
    EXPECT_EQ(entry["iterations"], 80);
    EXPECT_EQ(entry["repetitions"], 3);
    EXPECT_EQ(entry["check"], "ok");
    EXPECT_LT(entry["bytes_written"].get<uint64_t>(), 8 * entry["words"].get<uint64_t>());
  }
}

}  // namespace
}  // namespace holdfast::replay_test
