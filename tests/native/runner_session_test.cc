// SPDX-License-Identifier: Apache-2.0
//
// The runner from end to end on real heap files: every engine, small workloads, small sizes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/runner/bench.h"
#include "holdfast/runner/catalog.h"
#include "holdfast/runner/engine_table.h"
#include "holdfast/runner/heap_tools.h"
#include "holdfast/runner/record.h"
#include "holdfast/runner/serve.h"
#include "holdfast/runner/simulate.h"
#include "holdfast/runner/temporary_heap.h"

namespace holdfast {
namespace {

constexpr auto kQuiet = [](double /*share*/, const std::string& /*text*/) {};

Json bank_spec(const std::string& engine, const std::string& path) {
  return {{"engine", engine}, {"workload", "bank"},  {"params", {{"ack", 1}}}, {"path", path},
          {"threads", 2},     {"domain", "process"}, {"bytes", 4 << 20}};
}

/// Runs a worker and collects what it acknowledges.
std::string serve_and_read(Json spec, uint64_t transactions) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  spec["transactions"] = transactions;
  std::thread worker([&] {
    const auto served = serve(spec, ends[1]);
    EXPECT_TRUE(served.ok()) << served.status().to_string();
    close(ends[1]);
  });
  std::string bytes;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    bytes.append(buffer, static_cast<size_t>(n));
  }
  worker.join();
  close(ends[0]);
  return bytes;
}

class RunnerEngine : public testing::TestWithParam<std::string> {};

TEST_P(RunnerEngine, ServesAndVerifiesWhatItAcknowledged) {
  const TemporaryHeap file("", Domain::process, "serve-" + GetParam());
  const Json spec = bank_spec(GetParam(), file.path());
  const std::string first = serve_and_read(spec, 300);
  ASSERT_EQ(first.size(), 301 * sizeof(Record));
  EXPECT_EQ(parse_records(first).value()[0].kind, Record::kReady);
  EXPECT_EQ(parse_records(first).value()[0].words[0], 1U) << "the first run creates the heap";
  const std::string second = serve_and_read(spec, 200);
  EXPECT_EQ(parse_records(second).value()[0].words[0], 0U) << "the second finds it";

  const auto verified = verify(spec, first + second, kQuiet);
  ASSERT_TRUE(verified.ok()) << verified.status().to_string();
  const Json& report = verified.value();
  EXPECT_TRUE(report["ok"].get<bool>()) << report.dump(1);
  EXPECT_EQ(report["operations"], 500);
  EXPECT_GT(report["acknowledged"].get<uint64_t>(), 0U);
  EXPECT_EQ(report["verified"], report["acknowledged"]);
}

TEST_P(RunnerEngine, NoticesAPromiseThatWasNotKept) {
  const TemporaryHeap file("", Domain::process, "promise-" + GetParam());
  const Json spec = bank_spec(GetParam(), file.path());
  std::vector<Record> records = parse_records(serve_and_read(spec, 100)).value();
  Record* last = nullptr;
  for (Record& record : records) {
    if (record.kind != Record::kReady && record.promises()) {
      last = &record;
    }
  }
  ASSERT_NE(last, nullptr);
  last->words[1] += 1'000'000;  // a transaction that never was
  const std::string bytes(reinterpret_cast<const char*>(records.data()),
                          records.size() * sizeof(Record));
  const Json report = verify(spec, bytes, kQuiet).value();
  EXPECT_FALSE(report["ok"].get<bool>());
  EXPECT_EQ(report["failure_count"], 1);
}

TEST_P(RunnerEngine, IsMeasuredAndSimulated) {
  const Json spec = {{"workload", "map"},
                     {"params", {{"size", 200}, {"update", 50}}},
                     {"engines", {GetParam()}},
                     {"threads", {2}},
                     {"bytes", 4 << 20}};
  Json native = spec;
  native["seconds"] = 0.01;
  native["repetitions"] = 2;
  Json simulated = spec;
  simulated["transactions"] = 20;
  for (const Json& report : {bench(native, kQuiet).value(), simulate(simulated, kQuiet).value()}) {
    const Json& entry = report["benchmarks"].back();
    EXPECT_FALSE(entry.contains("error_message")) << entry.dump(1);
    EXPECT_EQ(entry["engine"], GetParam());
    EXPECT_EQ(entry["check"], "ok");
    EXPECT_GT(entry["update_commits"].get<uint64_t>(), 0U);
    const double fences =
        entry["pfence_per_update"].get<double>() + entry["psync_per_update"].get<double>();
    const Description& about = *find_native_engine(GetParam()).value()->description;
    EXPECT_EQ(fences > 0.0, about.durability != Durability::none);
  }
}

TEST_P(RunnerEngine, ConvertsToEveryOther) {
  const TemporaryHeap file("", Domain::process, "from-" + GetParam());
  const std::string records = serve_and_read(bank_spec(GetParam(), file.path()), 100);
  for (const std::string& other : engine_names(false)) {
    const TemporaryHeap target("", Domain::process, "to-" + other);
    const auto converted = heap_convert(file.path(), target.path(), {{"engine", other}});
    ASSERT_TRUE(converted.ok()) << converted.status().to_string();
    EXPECT_EQ(heap_info(target.path()).value()["engine"], other);
    const Json report = verify(bank_spec(other, target.path()), records, kQuiet).value();
    EXPECT_TRUE(report["ok"].get<bool>()) << other << report.dump(1);
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Engines, RunnerEngine, testing::ValuesIn(engine_names(false)), test_name);

TEST(RunnerBench, PlainIsTheBaselineWithOneThread) {
  const Json spec = {
      {"workload", "intset"}, {"params", {{"size", 100}}}, {"engines", {"plain", "undo"}},
      {"threads", {1, 2}},    {"seconds", 0.005},          {"repetitions", 1}};
  const Json report = bench(spec, kQuiet).value();
  std::multiset<std::string> names;
  for (const Json& entry : report["benchmarks"]) {
    EXPECT_FALSE(entry.contains("error_message")) << entry.dump(1);
    if (entry["run_type"] == "aggregate") {
      names.insert(entry["run_name"].get<std::string>());
    }
  }
  EXPECT_EQ(names, (std::multiset<std::string>{"intset/plain/threads:1", "intset/undo/threads:1",
                                               "intset/undo/threads:2"}));
}

TEST(RunnerBench, LeavesNoFileBehindWhenStopped) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("holdfast-bench-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const Json spec = {
      {"workload", "sps"}, {"engines", {"undo"}}, {"seconds", 0.005}, {"dir", folder.string()}};
  struct Stop {};
  const auto stop = [](double share, const std::string& /*text*/) {
    if (share > 0.4) {
      throw Stop();
    }
  };
  EXPECT_THROW((void)bench(spec, stop), Stop);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST(RunnerBench, WrongNamesListTheRightOnes) {
  const auto message = [](const Json& spec) { return bench(spec, kQuiet).status().message(); };
  EXPECT_NE(message({{"workload", "tpcd"}}).find("tpcc"), std::string::npos);
  EXPECT_NE(message({{"workload", "sps"}, {"engines", {"undoo"}}}).find("undo"), std::string::npos);
  EXPECT_NE(message({{"workload", "sps"}, {"params", {{"swap", 1}}}}).find("swaps"),
            std::string::npos);
  EXPECT_NE(message({{"workload", "sps"}, {"domain", "ssd"}}).find("pmem"), std::string::npos);
}

TEST(RunnerSimulate, SameSeedSameRun) {
  const Json spec = {{"workload", "bank"},
                     {"engines", {"undo"}},
                     {"threads", {3}},
                     {"transactions", 50},
                     {"seed", 9}};
  const auto steps = [](const Json& s) {
    return simulate(s, kQuiet).value()["benchmarks"][0]["simulated_steps"];
  };
  EXPECT_EQ(steps(spec), steps(spec));
  Json other = spec;
  other["seed"] = 10;
  EXPECT_NE(steps(spec), steps(other));
}

TEST(RunnerCatalog, ListsNamesAndSupport) {
  for (const Json& list : {engine_catalog(), workload_catalog(), machine_catalog()}) {
    ASSERT_FALSE(list.empty());
    for (const Json& item : list) {
      EXPECT_TRUE(item.at("name").is_string());
      EXPECT_TRUE(item.at("supported").is_boolean());
      EXPECT_EQ(item.at("supported").get<bool>(), item.at("reason").get<std::string>().empty());
    }
  }
}

TEST(RunnerHeapTools, RefuseWhatIsNoHeap) {
  EXPECT_EQ(heap_info("/nonexistent/heap").status().code(), Code::not_found);
  EXPECT_EQ(heap_check("/proc/self/exe").status().code(), Code::wrong_format);
}

}  // namespace
}  // namespace holdfast
