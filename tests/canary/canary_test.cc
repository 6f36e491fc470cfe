// SPDX-License-Identifier: Apache-2.0
//
// Do the judges still find planted bugs? Every canary beside an engine is planted and must be
// caught.
#include "holdfast/runner/crash/canary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/crash/crash.h"

namespace holdfast {

std::ostream& operator<<(std::ostream& out, const Canary& canary) {
  return out << canary.engine << " " << canary.mutation << canary.setting;
}

namespace {

/// The canaries that are mutations, or those that are settings.
std::vector<Canary> canaries(bool mutations) {
  std::vector<Canary> all = load_canaries().value();
  std::erase_if(all, [&](const Canary& canary) { return canary.mutation.empty() == mutations; });
  return all;
}

std::string test_name(const testing::TestParamInfo<Canary>& instance) {
  std::string name = instance.param.engine + "_" + instance.param.mutation + instance.param.setting;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

class CanaryTest : public testing::TestWithParam<Canary> {};

TEST_P(CanaryTest, IsCaught) {
  auto result = hunt(spec_of(GetParam()), [](double, const std::string&) {});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  const Json& report = *result;
  EXPECT_GT(report["mutated"].get<uint64_t>() + report["mutated_in_creation"].get<uint64_t>(), 0U)
      << "the runs never came to the site";
  ASSERT_FALSE(report["violations"].empty())
      << GetParam().engine << " with " << GetParam().mutation << " survives: " << GetParam().bug;
  const Json& v = report["violations"][0];
  std::printf("%s %s: %s, in search %d, seed %d\n", GetParam().engine.c_str(),
              GetParam().mutation.c_str(), v["name"].get<std::string>().c_str(),
              report["stage"].get<int>(), v["seed"].get<int>());
}

INSTANTIATE_TEST_SUITE_P(Canaries, CanaryTest, testing::ValuesIn(canaries(true)), test_name);

class CanarySetting : public testing::TestWithParam<Canary> {};

/// One search, whose settings stand in the row.
TEST_P(CanarySetting, IsCaught) {
  Json spec = spec_of(GetParam());
  spec["minimise"] = false;
  auto result = crash(spec, [](double, const std::string&) {});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  const Json& report = *result;
  ASSERT_FALSE(report["violations"].empty())
      << GetParam().engine << " with " << GetParam().setting << " survives: " << GetParam().bug;
  const Json& v = report["violations"][0];
  std::printf("%s %s: %s after %d schedules\n%s", GetParam().engine.c_str(),
              GetParam().setting.c_str(), v["name"].get<std::string>().c_str(),
              report["schedules"].get<int>(), v["story"].get<std::string>().c_str());
}

INSTANTIATE_TEST_SUITE_P(Canaries, CanarySetting, testing::ValuesIn(canaries(false)), test_name);

TEST(CanaryList, HasAtLeastEightForEveryEngine) {
  std::map<std::string, int> count;
  for (const Canary& canary : canaries(true)) {
    ++count[canary.engine];
  }
  for (const auto& row : engine_rows<SimMachine>()) {
    if (row.description->durability != Durability::none) {
      EXPECT_GE(count[row.description->name], 8) << row.description->name;
    }
  }
}

}  // namespace
}  // namespace holdfast
