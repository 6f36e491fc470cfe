// SPDX-License-Identifier: Apache-2.0
//
// Do the runner's tools for heaps and lists work, beside running workloads? One thread, no
// concurrency.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
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

/// Changes one byte of a file.
void damage(const std::string& path, uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 1));
  ASSERT_TRUE(file.flush().good()) << path;
}

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

std::string test_name_of(const testing::TestParamInfo<std::string>& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Engines, RunnerConvert, testing::ValuesIn(engine_names(false)),
                         test_name_of);

/// The engines that run over a journal, whose heaps have page checksums.
std::vector<std::string> journaled_engines() {
  auto names = engine_names(false);
  std::erase_if(names, [](const std::string& name) {
    return !find_native_engine(name).value()->description->check_journal().ok();
  });
  return names;
}

class RunnerConvertJournaled : public testing::TestWithParam<std::string> {};

TEST_P(RunnerConvertJournaled, RefusesADamagedPage) {
  const TemporaryHeap plain("", Domain::process, "plain-" + GetParam());
  serve_and_read(bank_spec(GetParam(), plain.path()), 100);
  const TemporaryHeap file("", Domain::process, "damaged-" + GetParam());
  const Json made = heap_convert(plain.path(), file.path(), {{"journal_bytes", 1 << 20}}).value();
  ASSERT_GT(made.at("checksummed_pages").get<uint64_t>(), 0U);
  uint64_t page = 0;
  for (const Json& extent : made.at("extents")) {
    if (extent["kind"] == "data") {  // no structure has its last page
      page = extent["offset"].get<uint64_t>() + extent["bytes"].get<uint64_t>() - kPageBytes;
    }
  }
  damage(file.path(), page + 100);

  const TemporaryHeap target("", Domain::process, "copy-" + GetParam());
  const Status refused = heap_convert(file.path(), target.path(), Json::object()).status();
  EXPECT_EQ(refused.code(), Code::corrupt);
  const std::string where = file.path() + ": the page at byte " + std::to_string(page);
  EXPECT_EQ(refused.message().find(where), 0U) << refused.to_string();
  EXPECT_FALSE(std::filesystem::exists(target.path()));
}

INSTANTIATE_TEST_SUITE_P(Engines, RunnerConvertJournaled, testing::ValuesIn(journaled_engines()),
                         test_name_of);

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
