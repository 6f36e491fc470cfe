// SPDX-License-Identifier: Apache-2.0
//
// Options by name: engines, hardware designs and workloads describe theirs with the same row and
// read their values with the same functions.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "holdfast/base/catalogue.h"
#include "holdfast/base/status.h"

namespace holdfast {

/// Values by name, as given on the command line ("log_entries=4096"). A heap file records the
/// options that decide its layout.
using Options = std::map<std::string, std::string>;

/// One option of an engine, a design or a workload.
struct OptionInfo {
  const char* name;
  const char* fallback;
  const char* help;
  /// The value crash tests use, so that logs fill and wrap around; null: the fallback.
  const char* tiny = nullptr;
  /// Of a workload: the possible values, where each gives the workload's root another type.
  std::span<const char* const> root_types = {};
};

/// Returns ok if `known` has every name in `given`, else invalid_argument:
/// "<owner> has no <kind> '<name>'; it has <names>".
Status check_option_names(std::string_view owner, std::string_view kind,
                          std::span<const OptionInfo> known, const Options& given);

/// "<what>=<text> is not <expected>", as invalid_argument.
Status wrong_value(std::string_view what, std::string_view text, std::string_view expected);

/// Reads a whole number in [low, high]. `what` names it for the error, such as "option retries".
Result<int64_t> parse_integer(std::string_view what, std::string_view text, int64_t low,
                              int64_t high);
Result<uint64_t> parse_unsigned(std::string_view what, std::string_view text, uint64_t low,
                                uint64_t high);
/// Reads a finite number in [low, high].
Result<double> parse_real(std::string_view what, std::string_view text, double low, double high);

/// Reads the option `name`, or returns `fallback` where it is not given. A malformed or
/// out-of-range value is an error that names the range.
Result<uint64_t> option_number(const Options& options, const std::string& name, uint64_t fallback,
                               uint64_t low, uint64_t high);
/// Reads the option `info` describes; its own fallback is checked as well.
Result<uint64_t> option_number(const Options& options, const OptionInfo& info, uint64_t low,
                               uint64_t high);

}  // namespace holdfast
