// SPDX-License-Identifier: Apache-2.0
//
// Are the times of operations right, and the accesses of the medium, in runs that are counted in
// transactions?
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/hardware/designs.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/sim/simulate.h"
#include "tests/engine_options.h"

namespace holdfast::response_test {
namespace {

const Progress kNoProgress = [](double, const std::string&) {};

Json counted(int transactions, const Json& more = Json::object()) {
  const std::string engine = first_of(engine_rows<SimMachine>(), [](const auto& row) {
    return is_durable(*row.description) && !row.description->needs_design;
  });
  Json spec = {
      {"workload", "sps"}, {"params", {{"entries", 200}}}, {"engines", {engine}}, {"threads", {1}},
      {"machine", "tiny"}, {"transactions", transactions}, {"warm_up", 0},        {"cache", "off"}};
  spec.update(more);
  return simulate(spec, kNoProgress).value()["benchmarks"][0];
}

/// A run of k transactions is the beginning of one of k + 1, so the sums of their times differ by
/// the time of one transaction.
std::vector<double> exact_times(int transactions) {
  std::vector<double> times;
  double before = 0;
  for (int k = 1; k <= transactions; ++k) {
    const Json response = counted(k)["response"];
    const double sum = response["mean_ns"].get<double>() * k;
    times.push_back(sum - before);
    before = sum;
  }
  return times;
}

TEST(RunnerResponse, PercentilesAreRightToOnePercent) {
  constexpr int kTransactions = 40;
  std::vector<double> times = exact_times(kTransactions);
  std::sort(times.begin(), times.end());
  ASSERT_GT(times.back(), 1.05 * times.front()) << "one percentile would be as right as another";
  const Json response = counted(kTransactions)["response"];
  EXPECT_EQ(response["count"], kTransactions);
  const auto expect = [&](const char* name, size_t rank) {
    const double exact = times[rank - 1];
    EXPECT_NEAR(response[name].get<double>(), exact, 0.01 * exact) << name;
  };
  expect("p50_ns", 20);
  expect("p90_ns", 36);
  expect("p99_ns", 40);
  expect("p999_ns", 40);
  expect("max_ns", 40);
}

TEST(RunnerResponse, AMachineWithoutTimeHasNone) {
  const Json entry = counted(10, {{"machine", "sim"}});
  EXPECT_FALSE(entry.contains("response"));
  EXPECT_FALSE(entry.contains("medium"));
}

TEST(RunnerResponse, TheWarmUpIsNotCounted) {
  EXPECT_EQ(counted(30, {{"warm_up", 70}})["response"]["count"], 30);
}

TEST(RunnerResponse, AccessesOfTheMediumAreThoseOfTheDesignsController) {
  const std::string engine = first_of(
      engine_rows<SimMachine>(), [](const auto& row) { return row.description->needs_design; });
  uint64_t reads = 0;  // none where a last level of the design's own has everything
  for (const DesignInfo& design : hardware_designs()) {
    const Json entry = counted(200, {{"engines", {engine}}, {"design", design.name}});
    ASSERT_TRUE(entry.contains("medium")) << entry.dump(1);
    EXPECT_EQ(entry["medium"]["writes"], entry["design_counters"]["media_writes"]) << design.name;
    EXPECT_EQ(entry["medium"]["reads"], entry["design_counters"]["media_reads"]) << design.name;
    reads += entry["medium"]["reads"].get<uint64_t>();
  }
  EXPECT_GT(reads, 0u);
}

TEST(RunnerResponse, AnEntryHasTheCachesOfItsComputer) {
  const Json caches = counted(1, {{"set", {{"llc.cores", "2"}}}})["caches"];
  EXPECT_EQ(caches["line_bytes"], 64);
  EXPECT_EQ(caches["l1"], (Json{{"bytes", 512}, {"count", 4}}));
  EXPECT_EQ(caches["llc"], (Json{{"bytes", 1024}, {"count", 2}})) << "one for each pair of cores";
}

}  // namespace
}  // namespace holdfast::response_test
