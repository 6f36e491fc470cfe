// SPDX-License-Identifier: Apache-2.0
#include "holdfast/base/options.h"

#include <charconv>
#include <system_error>

namespace holdfast {
namespace {

template <class Number>
Result<Number> parse(std::string_view what, std::string_view text, Number low, Number high) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= low && value <= high) {
    return value;
  }
  std::string expected = std::integral<Number> ? "a whole number from " : "a number from ";
  expected.append(std::to_string(low)).append(" to ").append(std::to_string(high));
  return wrong_value(what, text, expected);
}

}  // namespace

Status check_option_names(std::string_view owner, std::string_view kind,
                          std::span<const OptionInfo> known, const Options& given) {
  for (const auto& [name, value] : given) {
    if (!find_row(kind, name, known).ok()) {
      std::string text(owner);
      text.append(" has no ").append(kind).append(" '").append(name).append("'; it has ");
      return {Code::invalid_argument, text + row_names(known)};
    }
  }
  return {};
}

Status wrong_value(std::string_view what, std::string_view text, std::string_view expected) {
  std::string message(what);
  message.append("=").append(text).append(" is not ").append(expected);
  return {Code::invalid_argument, std::move(message)};
}

Result<int64_t> parse_integer(std::string_view what, std::string_view text, int64_t low,
                              int64_t high) {
  return parse(what, text, low, high);
}

Result<uint64_t> parse_unsigned(std::string_view what, std::string_view text, uint64_t low,
                                uint64_t high) {
  return parse(what, text, low, high);
}

Result<double> parse_real(std::string_view what, std::string_view text, double low, double high) {
  return parse(what, text, low, high);
}

Result<uint64_t> option_number(const Options& options, const std::string& name, uint64_t fallback,
                               uint64_t low, uint64_t high) {
  const auto found = options.find(name);
  return found == options.end() ? Result<uint64_t>(fallback)
                                : parse_unsigned("option " + name, found->second, low, high);
}

Result<uint64_t> option_number(const Options& options, const OptionInfo& info, uint64_t low,
                               uint64_t high) {
  const auto found = options.find(info.name);
  return parse_unsigned(std::string("option ") + info.name,
                        found == options.end() ? info.fallback : found->second, low, high);
}

Result<size_t> option_choice(const Options& options, const OptionInfo& info,
                             std::span<const char* const> values) {
  const auto found = options.find(info.name);
  const std::string text = found == options.end() ? info.fallback : found->second;
  for (size_t i = 0; i < values.size(); ++i) {
    if (text == values[i]) {
      return i;
    }
  }
  return wrong_value(std::string("option ") + info.name, text, "one of " + row_names(values));
}

}  // namespace holdfast
