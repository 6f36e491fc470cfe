// SPDX-License-Identifier: Apache-2.0
//
// Do the runner's tools for heaps and lists work, beside running workloads? One thread, no
// concurrency.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "holdfast/runner/catalog.h"
#include "holdfast/runner/heap/heap_tools.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/sim/simulate.h"
#include "holdfast/runner/spec/temporary_heap.h"
#include "tests/sanitized.h"
#include "tests/served_bank.h"

namespace holdfast::tools_test {
namespace {

class RunnerConvert : public testing::TestWithParam<std::string> {};

/// Converts the heap of an engine for each of the others.
void convert(const std::string& engine, const std::vector<std::string>& others) {
  const TemporaryHeap file("", Domain::process, "from-" + engine);
  const std::string records = serve_and_read(bank_spec(engine, file.path()), 100);
  for (const std::string& other : others) {
    const TemporaryHeap target("", Domain::process, "to-" + other);
    const auto converted = heap_convert(file.path(), target.path(), {{"engine", other}});
    ASSERT_TRUE(converted.ok()) << converted.status().to_string();
    EXPECT_EQ(heap_info(target.path()).value()["engine"], other);
    const Json report = verify(bank_spec(other, target.path()), records, kQuiet).value();
    EXPECT_TRUE(report["ok"].get<bool>()) << other << report.dump(1);
  }
}

/// Heaps are read and written through one interface, compiled once. So few pairs do, in which each
/// engine comes as often on either side: those at distances of a power of two in the list.
TEST_P(RunnerConvert, ConvertsToSomeOthers) {
  const std::vector<std::string> engines = engine_names(false);
  const auto at = std::find(engines.begin(), engines.end(), GetParam()) - engines.begin();
  std::vector<std::string> others = {GetParam()};
  for (size_t distance = 1; distance < engines.size(); distance *= kSanitized ? 8 : 2) {
    others.push_back(engines[(static_cast<size_t>(at) + distance) % engines.size()]);
  }
  convert(GetParam(), others);
}

TEST_P(RunnerConvert, LongConvertsToEveryOther) {
  convert(GetParam(), engine_names(false));
}

INSTANTIATE_TEST_SUITE_P(Engines, RunnerConvert, testing::ValuesIn(engine_names(false)),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(RunnerSimulate, SameSeedSameRun) {
  const Json spec = {{"workload", "bank"},
                     {"engines", {engine_names(false).front()}},
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
}  // namespace holdfast::tools_test
