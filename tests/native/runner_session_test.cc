// SPDX-License-Identifier: Apache-2.0
//
// Does the runner work from end to end on real heap files, with every engine, small workloads and
// small sizes?
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "holdfast/runner/bench/bench.h"
#include "holdfast/runner/heap/serve.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/sim/simulate.h"
#include "holdfast/runner/spec/record.h"
#include "holdfast/runner/spec/temporary_heap.h"
#include "tests/engine_options.h"
#include "tests/sanitized.h"
#include "tests/served_bank.h"

namespace holdfast::runner_session_test {
namespace {

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
  last->words[1] += 1'000'000;  // a transaction that was never run
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
    const bool durable = about.durability != Durability::none;
    EXPECT_EQ(entry["pwb_per_update"].get<double>() > 0.0, durable && !about.needs_lasting_caches);
    // One engine has no fence if the machine's read-modify-writes order write-backs.
    EXPECT_EQ(fences > 0.0, durable && about.fences[0] != '0');
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, RunnerEngine, testing::ValuesIn(engine_names(false)),
                         [](const auto& test) { return test_name(test.param); });

/// Any engine: the first and simplest of the registry.
const std::string kFirst = engine_names(false).front();

TEST(RunnerBench, PlainIsTheBaselineWithOneThread) {
  const Json spec = {{"workload", "intset"}, {"params", {{"size", 100}}},
                     {"threads", {1, 2}},    {"engines", {"plain", kFirst}},
                     {"seconds", 0.005},     {"repetitions", 1}};
  const Json report = bench(spec, kQuiet).value();
  std::multiset<std::string> names;
  for (const Json& entry : report["benchmarks"]) {
    EXPECT_FALSE(entry.contains("error_message")) << entry.dump(1);
    if (entry["run_type"] == "aggregate") {
      names.insert(entry["run_name"].get<std::string>());
    }
  }
  const std::string prefix = "intset/" + kFirst;
  EXPECT_EQ(names, (std::multiset<std::string>{"intset/plain/threads:1", prefix + "/threads:1",
                                               prefix + "/threads:2"}));
}

TEST(RunnerBench, HeapsAreSetUpAndCheckedSideBySide) {
  Json spec = {{"workload", "map"}, {"params", {{"size", 200}}},
               {"threads", {1, 2}}, {"engines", engine_names(false)},
               {"seconds", 0.002},  {"repetitions", 1},
               {"bytes", 4 << 20}};
  spec["max_bytes"] = 64 << 20;  // ThreadSanitizer leaves little address space
  const Json report = bench(spec, kQuiet).value();
  std::set<std::string> checked;
  for (const Json& entry : report["benchmarks"]) {
    EXPECT_FALSE(entry.contains("error_message")) << entry.dump(1);
    if (entry.value("check", "") == "ok") {
      checked.insert(entry["run_name"].get<std::string>());
    }
  }
  EXPECT_EQ(checked.size(), 2 * engine_names(false).size());
  spec["dir"] = "/nowhere/at/all";  // every set-up fails, and is reported as one error
  EXPECT_EQ(bench(spec, kQuiet).status().code(), Code::not_found);
}

/// A structure that is set up in a heap too small for it, so that the heap grows several times.
/// Under a sanitizer the first three engines.
TEST(RunnerBench, EachEngineGrowsItsHeap) {
  std::vector<std::string> engines = engine_names(false);
  engines.resize(kSanitized ? 3 : engines.size());
  Json spec = {{"workload", "map"},  {"params", {{"size", 20'000}, {"update", 50}}},
               {"threads", {2}},     {"engines", engines},
               {"seconds", 0.005},   {"repetitions", 1},
               {"bytes", 512 << 10}, {"max_bytes", 64 << 20}};
  const Json report = bench(spec, kQuiet).value();
  size_t checked = 0;
  for (const Json& entry : report["benchmarks"]) {
    EXPECT_FALSE(entry.contains("error_message")) << entry.dump(1);
    checked += entry.value("check", "") == "ok" ? 1 : 0;
  }
  EXPECT_EQ(checked, engines.size());
}

/// The check of TPC-C finds all blocks of the heap, those in its new parts, too.
TEST(RunnerBench, BlocksOfAGrownHeapAreChecked) {
  const Json spec = {
      {"workload", "tpcc"},   {"params", {{"items", 2000}, {"customers", 60}, {"orders", 60}}},
      {"engines", {kFirst}},  {"seconds", 0.005},
      {"repetitions", 1},     {"bytes", 512 << 10},
      {"max_bytes", 64 << 20}};
  const Json entry = bench(spec, kQuiet).value()["benchmarks"].back();
  EXPECT_FALSE(entry.contains("error_message")) << entry.dump(1);
  EXPECT_EQ(entry.value("check", ""), "ok");
}

TEST(RunnerBench, LeavesNoFileBehindWhenStopped) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("holdfast-bench-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const Json spec = {
      {"workload", "sps"}, {"engines", {kFirst}}, {"seconds", 0.005}, {"dir", folder.string()}};
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
  EXPECT_NE(message({{"workload", "sps"}, {"engines", {kFirst + "o"}}}).find(kFirst),
            std::string::npos);
  EXPECT_NE(message({{"workload", "sps"}, {"params", {{"swap", 1}}}}).find("swaps"),
            std::string::npos);
  EXPECT_NE(message({{"workload", "sps"}, {"domain", "ssd"}}).find("pmem"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::runner_session_test
