// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/fur/fur_options.h"

namespace holdfast {

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
  const auto found = options.find("timestamps");
  const std::string timestamps = found == options.end() ? "fixed" : found->second;
  if (timestamps != "fixed" && timestamps != "as_printed") {
    return Status(Code::invalid_argument,
                  "option timestamps=" + timestamps + " is neither fixed nor as_printed");
  }
  o.log = log.value();
  o.retries = retries.value();
  o.timestamps = timestamps == "fixed" ? FurTimestamps::fixed : FurTimestamps::as_printed;
  return o;
}

Result<size_t> fur_area_bytes(const Options& options, int max_threads) {
  const auto parsed = FurOptions::parse(options, max_threads);
  return parsed ? Result<size_t>(NumberedLogArea(parsed.value().log, max_threads).bytes)
                : Result<size_t>(parsed.status());
}

}  // namespace holdfast
