// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/fur/fur_options.h"

namespace holdfast {
namespace {

constexpr const char* kTimestampNames[] = {"fixed", "as_printed"};  // of FurTimestamps

}  // namespace

Result<FurOptions> FurOptions::parse(const Options& options, int max_threads) {
  FurOptions o;
  auto log = NumberedLogOptions::parse(options, max_threads);
  if (!log) {
    return log.status();
  }
  const auto retries = option_number(options, "retries", o.retries, 0, 1000);
  if (!retries) {
    return retries.status();
  }
  const auto timestamps = option_choice(options, kTimestampsOption, kTimestampNames);
  if (!timestamps) {
    return timestamps.status();
  }
  o.log = log.value();
  o.retries = retries.value();
  o.timestamps = static_cast<FurTimestamps>(timestamps.value());
  return o;
}

Result<size_t> fur_area_bytes(const Options& options, int max_threads) {
  const auto parsed = FurOptions::parse(options, max_threads);
  return parsed ? Result<size_t>(NumberedLogArea(parsed.value().log, max_threads).bytes)
                : Result<size_t>(parsed.status());
}

}  // namespace holdfast
