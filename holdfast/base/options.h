// SPDX-License-Identifier: Apache-2.0
//
// Options by name. Engines, hardware designs and workloads describe their options by the same row
// type, and read the values by the same functions.
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

/// Values by name, as in "log_entries=4096" on the command line. A heap file records the options
/// that determine its layout.
using Options = std::map<std::string, std::string>;

/// One option of an engine, a design or a workload.
struct OptionInfo {
  const char* name;
  const char* fallback;  ///< the value if the option is not given
  const char* help;
  /// The value for crash tests, so small that logs fill and wrap around; null: the fallback.
  const char* tiny = nullptr;
  /// For a workload's option: its possible values, if each gives the workload's root another type.
  std::span<const char* const> root_types = {};
  /// For an engine's number of bytes that is not given: in a run on a described machine it is at
  /// least so many times the machine's last level. 0: the fallback everywhere.
  unsigned last_levels = 0;
};

/// Ok if `known` has every name in `given`. Otherwise Code::invalid_argument with the message
/// "<owner> has no <kind> '<name>'; it has <names>".
Status check_option_names(std::string_view owner, std::string_view kind,
                          std::span<const OptionInfo> known, const Options& given);

/// The error "<what>=<text> is not <expected>", with Code::invalid_argument.
Status wrong_value(std::string_view what, std::string_view text, std::string_view expected);

// The functions below return wrong_value() for a malformed or out-of-range value; the message names
// the range.

/// Reads a whole number in [low, high]. `what` names it in the error, such as "option retries".
Result<int64_t> parse_integer(std::string_view what, std::string_view text, int64_t low,
                              int64_t high);
Result<uint64_t> parse_unsigned(std::string_view what, std::string_view text, uint64_t low,
                                uint64_t high);
/// Reads a finite number in [low, high].
Result<double> parse_real(std::string_view what, std::string_view text, double low, double high);

/// Reads the option `name`, or returns `fallback` if it is not given.
Result<uint64_t> option_number(const Options& options, const std::string& name, uint64_t fallback,
                               uint64_t low, uint64_t high);
/// Reads the option that `info` describes, or its fallback, which is checked too.
Result<uint64_t> option_number(const Options& options, const OptionInfo& info, uint64_t low,
                               uint64_t high);
/// Returns the index of the option's value among `values`.
Result<size_t> option_choice(const Options& options, const OptionInfo& info,
                             std::span<const char* const> values);

}  // namespace holdfast
