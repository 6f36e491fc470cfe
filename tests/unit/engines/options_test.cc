// SPDX-License-Identifier: Apache-2.0
//
// Does every engine take the values of its options that their descriptions name, and refuse the
// next ones?
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/unit/engines/engine_rows.h"
#include "tests/unit/option_ranges.h"

namespace holdfast::options_test {
namespace {

constexpr int kThreads = 8;

class EngineOptions : public testing::TestWithParam<std::string> {
 protected:
  const Description& engine() const { return *engine_rows_test::row_of(GetParam()).description; }
  Status parsed(const OptionInfo& option, const std::string& value) const {
    return engine().area_bytes({{option.name, value}}, kThreads).status();
  }
};

TEST_P(EngineOptions, HaveTheBoundsThatTheirDescriptionsName) {
  for (const OptionInfo& option : engine().option_list()) {
    const std::optional<OptionRange> range = range_of(option);
    if (range) {
      expect_bounds(option, *range,
                    [&](const std::string& value) { return parsed(option, value); });
    }
  }
}

TEST_P(EngineOptions, AreNumbersOrNamesOfChoices) {
  for (const OptionInfo& option : engine().option_list()) {
    EXPECT_EQ(parsed(option, "no such value").code(), Code::invalid_argument) << option.name;
    EXPECT_EQ(parsed(option, "").code(), Code::invalid_argument) << option.name;
    EXPECT_TRUE(parsed(option, option.fallback).ok()) << option.name;
    if (option.tiny != nullptr) {
      EXPECT_TRUE(parsed(option, option.tiny).ok()) << option.name;
    }
  }
}

/// An option has the default value that its row names: the area is as large.
TEST_P(EngineOptions, HaveTheDefaultsThatTheyName) {
  const size_t usual = engine().area_bytes({}, kThreads).value();
  for (const OptionInfo& option : engine().option_list()) {
    EXPECT_EQ(engine().area_bytes({{option.name, option.fallback}}, kThreads).value(), usual)
        << option.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineOptions,
                         testing::ValuesIn(engine_rows_test::engine_names()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace holdfast::options_test
