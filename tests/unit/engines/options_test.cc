// SPDX-License-Identifier: Apache-2.0
//
// Does every engine take the values of its options that their descriptions name, and refuse the
// next ones?
#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <string>

#include "tests/unit/engines/engine_rows.h"

namespace holdfast::options_test {
namespace {

constexpr int kThreads = 8;

struct Range {
  uint64_t low;
  uint64_t high;
};

uint64_t value_of(const std::string& digits, const std::string& unit) {
  const int shift = unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : 0;
  return std::stoull(digits) << shift;
}

/// The range that an option's description names: "16 to 64", "512 bytes to 1 GiB", or the values
/// "1: ...; 0: ...". Nothing if it names none.
std::optional<Range> range_of(const OptionInfo& option) {
  const std::string text = option.help;
  std::smatch match;
  static const std::regex range(
      R"((\d+)(?: (bytes|KiB|MiB|GiB))? to (\d+)(?: (bytes|KiB|MiB|GiB))?)");
  if (std::regex_search(text, match, range)) {
    return Range{value_of(match[1], match[2]), value_of(match[3], match[4])};
  }
  static const std::regex flag(R"(\b([01]): .*; ([01]): )");
  if (std::regex_search(text, match, flag)) {
    return Range{0, 1};
  }
  return {};
}

class EngineOptions : public testing::TestWithParam<std::string> {
 protected:
  const Description& engine() const { return *engine_rows_test::row_of(GetParam()).description; }
  Status parsed(const OptionInfo& option, const std::string& value) const {
    return engine().area_bytes({{option.name, value}}, kThreads).status();
  }
};

TEST_P(EngineOptions, HaveTheBoundsThatTheirDescriptionsName) {
  for (const OptionInfo& option : engine().option_list()) {
    const std::optional<Range> range = range_of(option);
    if (!range) {
      continue;
    }
    SCOPED_TRACE(std::string(option.name) + ", " + option.help);
    for (const uint64_t value : {range->low, range->high}) {
      const Status status = parsed(option, std::to_string(value));
      EXPECT_TRUE(status.ok()) << status.message();
    }
    if (range->low > 0) {
      EXPECT_EQ(parsed(option, std::to_string(range->low - 1)).code(), Code::invalid_argument);
    }
    EXPECT_EQ(parsed(option, std::to_string(range->high + 1)).code(), Code::invalid_argument);
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
