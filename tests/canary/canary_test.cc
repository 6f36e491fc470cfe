// SPDX-License-Identifier: Apache-2.0
//
// Do the judges still find planted bugs? Every row of experiments/canaries is planted and must be
// caught.
#include "holdfast/runner/crash/canary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast {

std::ostream& operator<<(std::ostream& out, const Canary& canary) {
  return out << canary.engine << " " << canary.mutation;
}

namespace {

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

std::string test_name(const testing::TestParamInfo<Canary>& instance) {
  std::string name = instance.param.engine + "_" + instance.param.mutation;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name + "_" + std::to_string(instance.index);
}

INSTANTIATE_TEST_SUITE_P(Canaries, CanaryTest, testing::ValuesIn(load_canaries().value()),
                         test_name);

TEST(CanaryList, HasAtLeastEightForEveryEngine) {
  std::map<std::string, int> count;
  const std::vector<Canary> canaries = load_canaries().value();
  for (const Canary& canary : canaries) {
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
