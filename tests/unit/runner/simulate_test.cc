// SPDX-License-Identifier: Apache-2.0
//
// Do simulated runs have the requested length, on the requested machine?
#include "holdfast/runner/sim/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/sim/sim_run.h"
#include "tests/engine_options.h"

namespace holdfast::simulate_test {
namespace {

const Progress kQuiet = [](double, const std::string&) {};

/// An engine whose transactions run beside each other, in hardware.
const std::string kConcurrent = first_of(engine_rows<SimMachine>(), [](const auto& row) {
  return is_durable(*row.description) && row.description->needs_htm;
});
/// An engine with one lock for all updates: the first and simplest of the registry.
const std::string kOneLock = engine_rows<SimMachine>().front().description->name;

Json spec(const Json& more) {
  Json spec = {{"workload", "sps"},        {"params", {{"entries", 200}}},
               {"engines", {kConcurrent}}, {"threads", {2}},
               {"machine", "tiny"},        {"cache", "off"}};
  spec.update(more);
  return spec;
}

Json entry_of(const Json& more) {
  return simulate(spec(more), kQuiet).value()["benchmarks"][0];
}

double rate(const Json& entry) {
  return entry["items_per_second"].get<double>();
}

TEST(RunnerSimulate, ADurationIsSimulatedTime) {
  const Json entry = entry_of({{"duration_us", 200}, {"warm_up_us", 20}});
  ASSERT_FALSE(entry.contains("error_message")) << entry.dump(1);
  EXPECT_DOUBLE_EQ(entry["simulated_seconds"].get<double>(), 200e-6);
  EXPECT_EQ(entry["late"], 2) << "each thread ends in the middle of one";
  const double count = entry["iterations"].get<double>();
  // Two operations count only in part.
  EXPECT_GT(rate(entry) * 200e-6, count - 2);
  EXPECT_LT(rate(entry) * 200e-6, count);
  EXPECT_EQ(entry["check"], "ok");
}

TEST(RunnerSimulate, TwiceTheTimeIsTwiceTheWorkAtTheSameRate) {
  const Json once = entry_of({{"duration_us", 400}, {"warm_up_us", 1000}});
  const Json twice = entry_of({{"duration_us", 800}, {"warm_up_us", 1000}});
  EXPECT_NEAR(twice["iterations"].get<double>() / once["iterations"].get<double>(), 2, 0.1);
  EXPECT_NEAR(rate(twice) / rate(once), 1, 0.05);
  const Json counted =
      entry_of({{"transactions", once["iterations"].get<int>() / 2}, {"warm_up_us", 1000}});
  EXPECT_NEAR(rate(counted) / rate(once), 1, 0.05) << "however its length is given";
}

// After the last transaction an engine's background thread ends the round that it is in.
TEST(RunnerSimulate, ANumberOfTransactionsTakesTheTimeOfTheirThread) {
  for (const auto& row : engine_rows<SimMachine>()) {
    const auto options = row.description->option_list();
    if (std::ranges::none_of(
            options, [](const OptionInfo& o) { return o.name == std::string("background"); })) {
      continue;
    }
    SCOPED_TRACE(row.description->name);
    const Json entry =
        entry_of({{"engines", {row.description->name}}, {"threads", {1}}, {"transactions", 20}});
    ASSERT_FALSE(entry.contains("error_message")) << entry.dump(1);
    const Json& response = entry["response"];
    const double answered = response["mean_ns"].get<double>() * response["count"].get<double>();
    EXPECT_NEAR(entry["simulated_seconds"].get<double>() * 1e9, answered, 0.01);
  }
}

// All threads begin at once. In a run shorter than the queue, shares of waits would add up to
// several times the rate that the lock allows.
TEST(RunnerSimulate, WaitingForALockIsNoPartOfWhatWasDone) {
  const Json more = {{"engines", {kOneLock}}, {"params", {{"entries", 200}, {"swaps", 100}}}};
  const auto with = [&](int threads, int duration_us) {
    Json asked = more;
    asked.update({{"machine", "power9"}, {"threads", {threads}}, {"duration_us", duration_us}});
    return rate(entry_of(asked));
  };
  const double alone = with(1, 1000);
  const double operation_us = 1e6 / alone;
  const double queued = with(32, static_cast<int>(4 * operation_us));
  EXPECT_LT(queued, 1.3 * alone);
  EXPECT_GT(queued, 0.6 * alone);
}

TEST(RunnerSimulate, RatesByKindAddUp) {
  const Json entry = entry_of(
      {{"workload", "intset"}, {"params", {{"size", 50}, {"update", 50}}}, {"duration_us", 100}});
  double sum = 0;
  for (const Json& row : entry["operations"]) {
    EXPECT_GT(row["items_per_second"].get<double>(), 0) << row.dump();
    sum += row["items_per_second"].get<double>();
  }
  EXPECT_NEAR(sum, rate(entry), rate(entry) * 1e-9);
}

TEST(RunnerSimulate, CountersTellUpdatesFromReads) {
  const Json entry = entry_of(
      {{"workload", "intset"}, {"params", {{"size", 50}, {"update", 50}}}, {"duration_us", 100}});
  const Json& counters = entry["machine_counters"];
  EXPECT_GT(counters["update"]["phase_ns"]["marker flush"].get<double>(), 0);
  EXPECT_EQ(counters["read"]["phase_ns"]["marker flush"].get<double>(), 0);
  EXPECT_GT(counters["read"]["execute_loads"].get<double>(), entry["read_commits"].get<double>());
  for (const auto& [phase, time] : counters["phase_ns"].items()) {
    if (phase == "execute") {
      EXPECT_NEAR(time.get<double>(),
                  counters["update"]["phase_ns"][phase].get<double>() +
                      counters["read"]["phase_ns"][phase].get<double>(),
                  1);
    }
  }
}

TEST(RunnerSimulate, ValuesOfTheMachineCanBeSet) {
  const Json slow = {{"duration_us", 200}, {"set", {{"persistence.fence_ns", 5000}}}};
  EXPECT_LT(rate(entry_of(slow)), 0.5 * rate(entry_of({{"duration_us", 200}})));
  const Json report = simulate(spec(slow), kQuiet).value();
  EXPECT_EQ(report["context"]["set"]["persistence.fence_ns"], "5000");
}

TEST(RunnerSimulate, InAClosedLoopAThreadIsAlwaysInAnOperation) {
  const Json entry = entry_of({{"duration_us", 400}, {"warm_up_us", 100}});
  const Json& response = entry["response"];
  EXPECT_EQ(response["count"], entry["iterations"]);
  EXPECT_NEAR(response["mean_ns"].get<double>() * rate(entry) / 2e9, 1, 0.02) << "2 threads";
  EXPECT_LE(response["p50_ns"].get<double>(), response["p999_ns"].get<double>());
  EXPECT_LE(response["p999_ns"].get<double>(), response["max_ns"].get<double>());
  EXPECT_FALSE(entry.contains("queued"));
}

TEST(RunnerSimulate, AnOpenLoopServesWhatArrives) {
  const Json closed = entry_of({{"duration_us", 2000}, {"warm_up_us", 100}});
  const double capacity = rate(closed);
  const auto with = [&](double share) {
    return entry_of({{"duration_us", 2000}, {"warm_up_us", 100}, {"arrivals", share * capacity}});
  };
  const Json idle = with(0.1);
  EXPECT_NEAR(idle["iterations"].get<double>() / (0.1 * capacity * 2e-3), 1, 0.2);
  EXPECT_EQ(idle["queued"], 0);
  EXPECT_LT(idle["response"]["mean_ns"].get<double>(),
            1.5 * closed["response"]["mean_ns"].get<double>());
  const Json busy = with(0.8);
  EXPECT_GT(busy["response"]["p99_ns"].get<double>(), idle["response"]["p99_ns"].get<double>());
  const Json swamped = with(4);
  EXPECT_NEAR(rate(swamped) / capacity, 1, 0.1);
  EXPECT_NEAR(swamped["queued"].get<double>() / (3 * capacity * 2e-3), 1, 0.2);
  EXPECT_GT(swamped["response"]["mean_ns"].get<double>(), 0.2e6) << "the queue's length in time";
}

TEST(RunnerSimulate, TheGaugeCountsUpdatesThatAreNotDurable) {
  const std::string lagging =
      first_of(engine_rows<SimMachine>(), [](const auto& row) { return row.description->lags; });
  const Json asked = {{"engines", {lagging}}, {"duration_us", 500}, {"gauge_us", 5}};
  Json later = asked;
  later["options"] = {{"lag", "8"}};
  const Json entry = entry_of(later);
  ASSERT_FALSE(entry.contains("error_message")) << entry.dump(1);
  const Json& pending = entry["pending"];
  EXPECT_NEAR(static_cast<double>(pending["samples"].size()), 100, 10);
  EXPECT_GT(pending["max"], 0);
  EXPECT_LE(pending["max"], 8 + 2) << "the lag, and the updates of 2 threads that will return";
  EXPECT_GT(pending["max_age_us"].get<double>(), 0);
  EXPECT_LT(pending["max_age_us"].get<double>(), 500);
  EXPECT_EQ(entry_of(asked)["pending"]["max"], 0) << "without a lag";
}

TEST(RunnerSimulate, ArrivalsAndTheGaugeNeedATime) {
  for (const char* const field : {"arrivals", "gauge_us"}) {
    const auto report = simulate(spec({{"transactions", 10}, {field, 1000}}), kQuiet);
    EXPECT_EQ(report.status().code(), Code::invalid_argument) << field;
  }
}

// The workload finds its roots afterwards, one for each partition. With an engine whose
// transactions begin slowly that took twice as long as the opening of the heap.
TEST(RunnerSimulate, ARecoveryIsTheOpeningOfTheHeapAlone) {
  const auto recovery = [](const std::string& engine, const char* copies) {
    const Json entry = entry_of({{"params", {{"entries", 200}, {"copies", copies}}},
                                 {"engines", {engine}},
                                 {"threads", {8}},
                                 {"transactions", 2},
                                 {"check", false},
                                 {"recovery", true}});
    return entry.at("recovery").at("seconds").get<double>();
  };
  for (const auto& row : engine_rows<SimMachine>()) {
    if (row.description->lags && row.description->needs_htm) {
      const std::string engine = row.description->name;
      EXPECT_LT(recovery(engine, "8"), 2 * recovery(engine, "1")) << engine;
    }
  }
}

TEST(RunnerSimulate, WithoutACheckTheHeapIsNotBroughtUpToDate) {
  const Json entry = entry_of({{"duration_us", 50}, {"check", false}});
  EXPECT_EQ(entry["check"], "not asked for");
  EXPECT_GT(rate(entry), 0);
}

TEST(RunnerSimulate, ALogMayFollowTheLastLevelOfTheMachine) {
  MachineDescription machine;
  machine.l1.bytes = 1000;
  OptionInfo option = {"log_bytes", "4000", ""};
  option.last_levels = 3;
  EXPECT_EQ(default_on(machine, option), "4000") << "at least the fallback";
  machine.l2.bytes = 2000;
  EXPECT_EQ(default_on(machine, option), "6000");
  machine.llc.bytes = 5000;
  EXPECT_EQ(default_on(machine, option), "15000");
}

TEST(RunnerSimulate, AnEngineWithoutWriteBacksRunsWhereCachesSurvive) {
  const std::string engine = first_of(engine_rows<SimMachine>(), [](const auto& row) {
    return row.description->needs_lasting_caches;
  });
  const Json asked = {{"engines", {engine}}, {"transactions", 20}, {"threads", {1}}};
  const Json report = simulate(spec(asked), kQuiet).value();
  EXPECT_EQ(report["context"]["domain"], "eadr");
  EXPECT_EQ(report["benchmarks"][0]["check"], "ok");
  Json refused = asked;
  refused["domain"] = "pmem";
  EXPECT_NE(entry_of(refused)["error_message"].get<std::string>().find("domain eadr"),
            std::string::npos);
}

TEST(RunnerSimulate, RefusesWhatCannotBe) {
  const auto refused = [](const Json& more) {
    const auto report = simulate(spec(more), kQuiet);
    EXPECT_EQ(report.status().code(), Code::invalid_argument) << more.dump();
    return report.status().message();
  };
  EXPECT_NE(refused({{"duration_us", 5}, {"machine", "sim"}}).find("without simulated time"),
            std::string::npos);
  EXPECT_NE(refused({{"duration_us", 5}, {"transactions", 5}}).find("not both"), std::string::npos);
  EXPECT_NE(refused({{"set", {{"core.ghz", 2}}}, {"machine", "sim"}}).find("no description"),
            std::string::npos);
  EXPECT_NE(refused({{"set", {{"core.speed", 2}}}}).find("there is no key 'speed'"),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::simulate_test
