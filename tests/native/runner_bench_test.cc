// SPDX-License-Identifier: Apache-2.0
//
// Do the measuring loop and the report count correctly? The session is only a counter.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "holdfast/runner/bench/bench_entry.h"
#include "holdfast/runner/sessions/measurement.h"

namespace holdfast::runner_bench_test {
namespace {

const WorkloadInfo kInfo = {"count", "counts", {}, {"add", "look"}};

class CountingWorkload : public WorkloadInstance {
 public:
  const WorkloadInfo& info() const override { return kInfo; }
  Status set_up(int /*workers*/, uint64_t /*seed*/) override { return {}; }
  Status attach() override { return {}; }
  OperationResult operation(int worker, Random& random) override {
    if (fails_after_ >= 0 && calls_.load() >= fails_after_) {
      throw Error(Status(Code::out_of_space, "full"));
    }
    calls_.fetch_add(1);
    OperationResult result;
    result.kind = random.chance(0.25) ? 1 : 0;
    result.committed = result.kind == 0;
    result.acknowledgement[0] = static_cast<uint64_t>(worker);
    return result;
  }
  Status verify(const OperationResult& /*acknowledged*/) override { return {}; }
  Status check() override { return {}; }

  std::atomic<int64_t> calls_ = 0;
  int64_t fails_after_ = -1;
};

class CountingSession : public Session {
 public:
  std::string engine() const override { return "counter"; }
  WorkloadInstance& workload() override { return workload_; }
  Statistics statistics() override {
    Statistics s;
    s.update_commits = static_cast<uint64_t>(workload_.calls_.load());
    s.persist.psync = 2 * s.update_commits;
    return s;
  }
  int max_threads() const override { return 8; }
  void run_threads(int n, FunctionRef<void(int)> body) override {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) {
      threads.emplace_back([=] { body(i); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  // The clock advances by a microsecond per operation. So a measurement ends after a known count of
  // operations.
  uint64_t now() override { return static_cast<uint64_t>(workload_.calls_.load()); }
  double nanoseconds(uint64_t ticks) const override { return static_cast<double>(ticks) * 1000; }
  std::string htm() const override { return ""; }
  std::string domain() const override { return "process"; }
  size_t heap_bytes() const override { return 4096; }
  const RecoveryReport& recovery() const override { return recovery_; }
  bool created() const override { return true; }
  Result<HeapFindings> check_heap() override { return HeapFindings(); }
  std::span<const std::byte> data() const override { return {}; }
  Result<ReplayReport> replay(const ReplayOptions& /*options*/) override { return ReplayReport(); }
  Status fence() override { return {}; }
  Promise promise() const override { return {}; }
  Status close() override { return {}; }
  Result<uint64_t> verify_pages() override { return uint64_t{0}; }

  CountingWorkload workload_;
  RecoveryReport recovery_;
};

TEST(RunnerSlice, CountsEveryOperationOfEveryThread) {
  CountingSession session;
  const Measurement measurement = measure(session, 3, 0.01, 1);
  ASSERT_TRUE(measurement.status.ok()) << measurement.status.to_string();
  EXPECT_EQ(measurement.operations, static_cast<uint64_t>(session.workload_.calls_.load()));
  EXPECT_EQ(measurement.by_kind[0] + measurement.by_kind[1], measurement.operations);
  EXPECT_EQ(measurement.rolled_back, measurement.by_kind[1]);
  EXPECT_EQ(measurement.statistics.update_commits, measurement.operations);
  // The measurement takes 10 ms, and the clock advances by a microsecond per operation.
  EXPECT_GE(measurement.operations, 10'000U);
  EXPECT_GE(measurement.seconds, 0.01);
  EXPECT_LE(measurement.seconds, static_cast<double>(measurement.operations) * 1e-6 + 1e-9);
}

TEST(RunnerSlice, ReportsOnlyWhatHappenedInIt) {
  CountingSession session;
  (void)measure(session, 1, 0.01, 1);
  const Measurement second = measure(session, 1, 0.01, 2);
  EXPECT_LT(second.operations, 12'000U);
  EXPECT_EQ(second.statistics.update_commits, second.operations);
}

TEST(RunnerSlice, StopsAllThreadsWhenOneFails) {
  CountingSession session;
  session.workload_.fails_after_ = 500;
  const Measurement measurement = measure(session, 2, 1000, 1);
  EXPECT_EQ(measurement.status.code(), Code::out_of_space);
}

Measured measured_with(const std::vector<uint64_t>& operations) {
  Measured m;
  m.workload = "count";
  m.engine = "counter";
  m.threads = 2;
  m.kinds = {"add", "look"};
  for (const uint64_t n : operations) {
    Measurement measurement;
    measurement.seconds = 1;
    measurement.cpu_seconds = 2;
    measurement.operations = n;
    measurement.by_kind = {n, 0};
    measurement.latency.resize(2);
    measurement.statistics.update_commits = n;
    measurement.statistics.persist.pwb = 3 * n;
    measurement.statistics.persist.pfence = n;
    measurement.statistics.persist.psync = n;
    measurement.statistics.bytes_stored = 8 * n;
    measurement.statistics.bytes_written = 24 * n;
    m.measurements.push_back(measurement);
  }
  return m;
}

TEST(RunnerEntries, OnePerTurnAndTheMedianWithItsSpread) {
  Json list = Json::array();
  append_entries(measured_with({100, 400, 200}), 3, list);
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list[1]["name"], "count/counter/threads:2");
  EXPECT_EQ(list[1]["run_type"], "iteration");
  EXPECT_EQ(list[1]["iterations"], 400);
  EXPECT_EQ(list[1]["real_time"], 2.5e6);
  EXPECT_EQ(list[1]["cpu_time"], 5e6);
  const Json& median = list[3];
  EXPECT_EQ(median["name"], "count/counter/threads:2_median");
  EXPECT_EQ(median["aggregate_name"], "median");
  EXPECT_EQ(median["items_per_second"], 200.0);
  EXPECT_EQ(median["items_per_second_min"], 100.0);
  EXPECT_EQ(median["items_per_second_max"], 400.0);
  EXPECT_EQ(median["pwb_per_update"], 3.0);
  EXPECT_EQ(median["fences_per_update"], 2.0);
  EXPECT_EQ(median["bytes_written_per_byte_stored"], 3.0);
  EXPECT_EQ(median["operations"][0]["items_per_second"], 200.0);
}

TEST(RunnerEntries, MedianOfAnEvenNumberLiesBetween) {
  Json list = Json::array();
  append_entries(measured_with({100, 400, 200, 300}), 0, list);
  EXPECT_EQ(list.back()["items_per_second"], 250.0);
}

TEST(RunnerEntries, AFailedConfigurationSaysWhy) {
  Measured m = measured_with({});
  m.status = Status(Code::unsupported, "no such thing");
  Json list = Json::array();
  append_entries(m, 0, list);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["error_occurred"], true);
  EXPECT_EQ(list[0]["error_message"], "unsupported: no such thing");
}

const OptionInfo kOptions[] = {{"log_entries", "64", ""}, {"retries", "8", ""}};

Description described(const char* name, size_t options) {
  Description d{};
  d.name = name;
  d.options = kOptions;
  d.option_count = options;
  return d;
}

TEST(RunnerOptions, GoToTheEnginesThatHaveThem) {
  const Description both = described("both", 2);
  const Description one = described("one", 1);
  const std::map<std::string, std::string> given = {
      {"log_entries", "128"}, {"retries", "3"}, {"both.log_entries", "256"}};
  EXPECT_EQ(engine_options(both, given), (Options{{"log_entries", "256"}, {"retries", "3"}}));
  EXPECT_EQ(engine_options(one, given), (Options{{"log_entries", "128"}}));
  EXPECT_TRUE(check_options({&both, &one}, given).ok());
  EXPECT_EQ(check_options({&one}, given).code(), Code::invalid_argument);
  const Status unknown = check_options({&both}, {{"retrys", "3"}});
  EXPECT_NE(unknown.message().find("both.retries"), std::string::npos) << unknown.message();
}

}  // namespace
}  // namespace holdfast::runner_bench_test
