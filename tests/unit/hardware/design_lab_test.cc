// SPDX-License-Identifier: Apache-2.0
// Do simulated runs with a hardware design tell its traffic and its recovery?
#include <gtest/gtest.h>

#include "holdfast/runner/sim/simulate.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::design_lab_test {
namespace {

Json entry_of(const Json& more) {
  Json spec = {{"workload", "sps"},         {"params", {{"entries", 400}}}, {"threads", {2}},
               {"machine", "tiny"},         {"transactions", 60},           {"cache", "off"},
               {"design", durable_design()}};
  spec.update(more);
  return simulate(spec, [](double, const std::string&) {}).value()["benchmarks"][0];
}

TEST(DesignLab, CausesAddUpToTheControllersCount) {
  for (const std::string& design : {durable_design(), volatile_design()}) {
    const Json entry = entry_of({{"design", design}});
    ASSERT_FALSE(entry.contains("error_message")) << entry.dump(1);
    EXPECT_EQ(entry["design"], design);
    const Json& counters = entry["design_counters"];
    EXPECT_EQ(counters["transactions"], 120);
    uint64_t sum = 0;
    for (const auto& [cause, count] : counters["writes_by_cause"].items()) {
      sum += count.get<uint64_t>();
    }
    EXPECT_GT(sum, 100u);
    EXPECT_EQ(sum, counters["media_writes"].get<uint64_t>() +
                       counters["writes_merged"].get<uint64_t>() +
                       counters["writes_cancelled"].get<uint64_t>());
    EXPECT_EQ(sum, entry["machine_counters"]["medium_writes"].get<uint64_t>());
  }
}

TEST(DesignLab, RecoveryOfADurableDesignTakesTimeAndLines) {
  const Json entry = entry_of({{"recovery", true}});
  ASSERT_FALSE(entry.contains("error_message")) << entry.dump(1);
  EXPECT_EQ(entry["check"], "ok");
  const Json& design = entry["recovery"]["design"];
  EXPECT_GT(design["seconds"].get<double>(), 0);
  EXPECT_GE(entry["recovery"]["seconds"].get<double>(), design["seconds"].get<double>());
  EXPECT_GT(entry["design_counters"]["structure_bytes"].get<uint64_t>(), 0u);
}

TEST(DesignLab, AVolatileDesignHasNoRecovery) {
  Json spec = {{"workload", "sps"},
               {"machine", "tiny"},
               {"threads", {1}},
               {"recovery", true},
               {"design", volatile_design()}};
  const auto refused = simulate(spec, [](double, const std::string&) {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("no recovery"), std::string::npos)
      << refused.status().to_string();
}

}  // namespace
}  // namespace holdfast::design_test::design_lab_test
