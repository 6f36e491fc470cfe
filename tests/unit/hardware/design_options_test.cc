// SPDX-License-Identifier: Apache-2.0
//
// Does every design take the values of its options that their descriptions name, and refuse the
// next ones?
#include <gtest/gtest.h>

#include <cctype>
#include <optional>
#include <string>

#include "tests/unit/hardware/design_fixture.h"
#include "tests/unit/option_ranges.h"

namespace holdfast::design_test::design_options_test {
namespace {

class DesignOptions : public testing::TestWithParam<const DesignInfo*> {
 protected:
  static Status made(const OptionInfo& option, const std::string& value) {
    return make_design(GetParam()->name, {{option.name, value}}).status();
  }
  static bool is_number(const OptionInfo& option) {
    return std::isdigit(static_cast<unsigned char>(option.fallback[0])) != 0;
  }
};

TEST_P(DesignOptions, HaveTheBoundsThatTheirDescriptionsName) {
  for (const OptionInfo& option : GetParam()->options) {
    const std::optional<OptionRange> range = range_of(option);
    ASSERT_EQ(range.has_value(), is_number(option)) << option.name << ", " << option.help;
    if (range) {
      expect_bounds(option, *range, [&](const std::string& value) { return made(option, value); });
    }
  }
}

TEST_P(DesignOptions, AreNumbersOrNamesOfChoices) {
  for (const OptionInfo& option : GetParam()->options) {
    EXPECT_EQ(made(option, "no such value").code(), Code::invalid_argument) << option.name;
    EXPECT_EQ(made(option, "").code(), Code::invalid_argument) << option.name;
    EXPECT_TRUE(made(option, option.fallback).ok()) << option.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Designs, DesignOptions, testing::ValuesIn(all_designs()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace holdfast::design_test::design_options_test
