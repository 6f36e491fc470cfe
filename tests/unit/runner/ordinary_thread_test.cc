// SPDX-License-Identifier: Apache-2.0
//
// Does a thread without transactions run beside the workers, and are its cache misses its own?
#include "holdfast/runner/sim/ordinary_thread.h"

#include <gtest/gtest.h>

#include <string>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/runner/sim/simulate.h"
#include "tests/engine_options.h"

namespace holdfast::ordinary_thread_test {
namespace {

const Progress kQuiet = [](double, const std::string&) {};

Json run(const Json& more = Json::object()) {
  const std::string engine = engine_rows<SimMachine>().front().description->name;
  Json spec = {{"workload", "sps"},   {"params", {{"entries", 200}}},
               {"engines", {engine}}, {"threads", {1}},
               {"machine", "tiny"},   {"cache", "off"},
               {"beside", "btree"},   {"beside_size", 200},
               {"transactions", 200}};
  spec.update(more);
  auto report = simulate(spec, kQuiet);
  return report.ok() ? report.value()["benchmarks"][0]
                     : Json{{"error_message", report.status().message()}};
}

double miss_rate(const Json& entry, const char* level) {
  return entry["beside"]["miss_rate"][level].get<double>();
}

TEST(RunnerOrdinaryThread, RunsAsLongAsTheWorkers) {
  for (const char* structure : kBesideStructures) {
    const Json entry = run({{"beside", structure}});
    ASSERT_FALSE(entry.contains("error_message")) << entry.dump(1);
    EXPECT_EQ(entry["iterations"], 200) << "it is no worker";
    EXPECT_EQ(entry["check"], "ok");
    const Json& beside = entry["beside"];
    EXPECT_EQ(beside["structure"], structure);
    EXPECT_GT(beside["inserts"], 10);
    EXPECT_GT(beside["machine_counters"]["dram_reads"], 0) << "its memory is volatile";
    const Json longer = run({{"beside", structure}, {"transactions", 400}});
    EXPECT_NEAR(longer["beside"]["inserts"].get<double>() / beside["inserts"].get<double>(), 2,
                0.4);
  }
}

TEST(RunnerOrdinaryThread, ItsCountersAreApartFromTheWorkers) {
  const Json alone = run({{"beside", ""}});
  EXPECT_FALSE(alone.contains("beside"));
  const Json entry = run();
  const auto loads = [](const Json& counters) { return counters["loads"].get<uint64_t>(); };
  const uint64_t own = loads(entry["beside"]["machine_counters"]);
  EXPECT_GT(own, 0U);
  EXPECT_NEAR(static_cast<double>(loads(entry["machine_counters"]) - own),
              static_cast<double>(loads(alone["machine_counters"])),
              0.02 * static_cast<double>(own));
}

TEST(RunnerOrdinaryThread, AThreadOfItsCoreTakesCacheFromIt) {
  const Json large = {{"set", {{"cores", 2}}}, {"params", {{"entries", 20}}}, {"beside_size", 4}};
  Json shared = large;
  shared["set"] = {{"cores", 1}};
  EXPECT_GT(miss_rate(run(shared), "l1"), 1.1 * miss_rate(run(large), "l1"));
}

TEST(RunnerOrdinaryThread, TheSameSeedRunsTheSame) {
  const Json entry = run();
  EXPECT_EQ(entry["beside"], run()["beside"]);
  EXPECT_NE(entry["beside"], run({{"seed", 2}})["beside"]);
}

TEST(RunnerOrdinaryThread, NonsenseIsRefused) {
  const auto refused = [](const Json& more) { return run(more).value("error_message", ""); };
  EXPECT_NE(refused({{"beside", "heap"}}).find("one of btree, rbtree"), std::string::npos);
  EXPECT_NE(refused({{"machine", "sim"}}).find("needs simulated time"), std::string::npos);
  EXPECT_NE(refused({{"beside_size", -1}}).find("beside_size"), std::string::npos);
}

/// Five loads and five stores, of which one store needed no fetch.
TEST(RunnerOrdinaryThread, ALevelsMissRateIsOfTheAccessesThatReachIt) {
  BesideRun run;
  run.counters.loads = 5;
  run.counters.stores = 5;
  run.counters.load_from = {1, 1, 1, 0, 0, 2, 0};
  run.counters.own_from = {1, 1, 0, 1, 0, 0, 1};
  const BesideRun::MissRates rates = run.miss_rates();
  EXPECT_DOUBLE_EQ(rates.l1, 7.0 / 10);
  EXPECT_DOUBLE_EQ(rates.l2, 5.0 / 7);
  EXPECT_DOUBLE_EQ(rates.llc, 4.0 / 5);
  const BesideRun::MissRates none = BesideRun{}.miss_rates();
  EXPECT_EQ(none.l1 + none.l2 + none.llc, 0);
}

}  // namespace
}  // namespace holdfast::ordinary_thread_test
