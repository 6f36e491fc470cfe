// SPDX-License-Identifier: Apache-2.0
//
// FUR's algorithm as printed has a race, which is a bug planted by its authors.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "holdfast/runner/crash/crash.h"

namespace holdfast {
namespace {

/// The judge must find by itself that the printed order of FUR's time stamps loses data: what a
/// read-only transaction saw, and what an update built on.
class FurAsPrinted : public testing::TestWithParam<std::string> {};

TEST_P(FurAsPrinted, LosesWhatSomebodySaw) {
  Json spec = {{"engine", GetParam()}, {"options", {{"timestamps", "as_printed"}}},
               {"schedules", 2000},    {"points", 40},
               {"images", 4},          {"crash_recovery", 0},
               {"go_on", 0},           {"params", {{"transactions", "2"}, {"prelude", "0"}}},
               {"minimise", false}};
  for (const bool read_only : {true, false}) {
    spec["params"]["reads"] = read_only ? "60" : "0";
    auto result = crash(spec, [](double, const std::string&) {});
    ASSERT_TRUE(result.ok()) << result.status().to_string();
    const Json& report = *result;
    ASSERT_FALSE(report["violations"].empty()) << "not found in 2000 schedules";
    const Json& v = report["violations"][0];
    std::printf("%s as printed, %s: %s after %d schedules\n%s", GetParam().c_str(),
                read_only ? "with readers" : "updates only", v["name"].get<std::string>().c_str(),
                report["schedules"].get<int>(), v["story"].get<std::string>().c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, FurAsPrinted, testing::Values("fur-opa", "fur-si"),
                         [](const auto& instance) {
                           return instance.param == "fur-opa" ? "fur_opa" : "fur_si";
                         });

}  // namespace
}  // namespace holdfast
