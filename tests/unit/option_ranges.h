// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <regex>
#include <string>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/options.h"
#include "holdfast/base/status.h"

namespace holdfast {

/// The least and the greatest value of an option that is a number.
struct OptionRange {
  uint64_t low;
  uint64_t high;
};

/// The range that an option's description names: "16 to 64", "512 bytes to 1 GiB", or values with
/// their meanings, as in "1: ...; 0: ..." and "1: ...". Nothing if it names none.
inline std::optional<OptionRange> range_of(const OptionInfo& option) {
  const auto value_of = [](const std::string& digits, const std::string& unit) {
    const int shift = unit == "KiB"   ? 10
                      : unit == "MiB" ? 20
                      : unit == "GiB" ? 30
                      : unit == "TiB" ? 40
                                      : 0;
    return uint64_t{std::stoull(digits)} << shift;
  };
  const std::string text = option.help;
  std::smatch match;
  static const std::regex range(
      R"((\d+)(?: (bytes|KiB|MiB|GiB|TiB))? to (\d+)(?: (bytes|KiB|MiB|GiB|TiB))?)");
  if (std::regex_search(text, match, range)) {
    return OptionRange{value_of(match[1], match[2]), value_of(match[3], match[4])};
  }
  static const std::regex flag(R"(^[01]: |\b[01]: .*; [01]: )");
  if (std::regex_search(text, match, flag)) {
    return OptionRange{0, 1};
  }
  return {};
}

/// Are both ends of the range taken, and the next values outside refused? `parsed` reads a value.
inline void expect_bounds(const OptionInfo& option, const OptionRange& range,
                          FunctionRef<Status(const std::string&)> parsed) {
  SCOPED_TRACE(std::string(option.name) + ", " + option.help);
  for (const uint64_t value : {range.low, range.high}) {
    const Status status = parsed(std::to_string(value));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  if (range.low > 0) {
    EXPECT_EQ(parsed(std::to_string(range.low - 1)).code(), Code::invalid_argument);
  }
  EXPECT_EQ(parsed(std::to_string(range.high + 1)).code(), Code::invalid_argument);
}

}  // namespace holdfast
