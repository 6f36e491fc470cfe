// SPDX-License-Identifier: Apache-2.0
// Are options of FUR that make no sense refused, and hardware that does not serve it?
#include "holdfast/engines/fur/fur_options.h"

#include <gtest/gtest.h>

#include "holdfast/engines/fur/fur.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::fur_options_test {
namespace {

TEST(FurOptions, RefusesWhatMakesNoSense) {
  for (const Options& bad :
       {Options{{"log_bytes", "511"}}, Options{{"markers", "13"}}, Options{{"retries", "many"}},
        Options{{"timestamps", "clock"}}, Options{{"background", "2"}}}) {
    const auto result = fur_area_bytes(bad, 10);
    ASSERT_FALSE(result.ok()) << bad.begin()->first;
    EXPECT_EQ(result.status().code(), Code::invalid_argument);
    EXPECT_NE(result.status().message().find(bad.begin()->first), std::string::npos);
  }
  EXPECT_TRUE(fur_area_bytes({{"log_bytes", "512"}, {"markers", "14"}}, 10).ok());
  EXPECT_GE(fur_area_bytes({}, 64).value(), 64u * (1 << 20) + 65536 * 64);
}

TEST(FurOptions, HaveTheDefaultsThatTheyName) {
  Options named;
  for (const OptionInfo& option : kFurOptions) {
    named[option.name] = option.fallback;
  }
  const FurOptions usual = FurOptions::parse({}, 8).value();
  EXPECT_EQ(usual.retries, FurOptions::parse(named, 8).value().retries);
  EXPECT_EQ(usual.timestamps, FurTimestamps::fixed);
}

/// Without full suspend, updates take the lock.
TEST(FurOptions, NeedsFullSuspendAndForSnapshotsUntrackedLoads) {
  const HtmCapabilities power = {.untracked_loads = true, .suspend = true};
  const HtmCapabilities rtm = {.suspend_loads = true};
  EXPECT_TRUE(FurOpa<SimMachine>::uses_hardware(power) && FurSi<SimMachine>::uses_hardware(power));
  EXPECT_FALSE(FurOpa<SimMachine>::uses_hardware(rtm) || FurSi<SimMachine>::uses_hardware(rtm));
  EXPECT_TRUE(FurOpa<SimMachine>::uses_hardware({.suspend = true}));
  EXPECT_FALSE(FurSi<SimMachine>::uses_hardware({.suspend = true}));
}

}  // namespace
}  // namespace holdfast::fur_options_test
