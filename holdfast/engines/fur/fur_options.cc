// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/fur/fur_options.h"

namespace holdfast {
namespace {

Result<uint64_t> choice(const Options& options, const std::string& name, const std::string& zero,
                        const std::string& one) {
  const auto found = options.find(name);
  if (found == options.end() || found->second == zero) {
    return uint64_t{0};
  }
  if (found->second == one) {
    return uint64_t{1};
  }
  return Status(Code::invalid_argument,
                "option " + name + "=" + found->second + " is neither " + zero + " nor " + one);
}

}  // namespace

Result<FurOptions> FurOptions::parse(const Options& options, int max_threads) {
  FurOptions o;
  auto log = NumberedLogOptions::parse(options, max_threads);
  if (!log) {
    return log.status();
  }
  const auto retries = option_number(options, "retries", o.retries, 0, 1000);
  const auto timestamps = choice(options, "timestamps", "fixed", "as_printed");
  for (const auto* result : {&retries, &timestamps}) {
    if (!result->ok()) {
      return result->status();
    }
  }
  o.log = log.value();
  o.retries = retries.value();
  o.timestamps = timestamps.value() == 0 ? FurTimestamps::fixed : FurTimestamps::as_printed;
  return o;
}

Result<size_t> fur_area_bytes(const Options& options, int max_threads) {
  const auto parsed = FurOptions::parse(options, max_threads);
  return parsed ? Result<size_t>(NumberedLogArea(parsed.value().log, max_threads).bytes)
                : Result<size_t>(parsed.status());
}

}  // namespace holdfast
