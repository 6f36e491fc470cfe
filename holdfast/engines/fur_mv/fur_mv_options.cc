// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/fur_mv/fur_mv_options.h"

namespace holdfast {

Result<FurMvOptions> FurMvOptions::parse(const Options& options, int max_threads) {
  FurMvOptions o;
  auto log = NumberedLogOptions::parse(options, max_threads);
  if (!log) {
    return log.status();
  }
  auto retries = option_number(options, "retries", o.retries, 0, 1000);
  if (!retries) {
    return retries.status();
  }
  auto stripes = option_number(options, "stripes", o.stripes, 16, 1 << 26);
  if (!stripes) {
    return stripes.status();
  }
  auto versions = option_number(options, "versions", o.versions, 1, 65536);
  if (!versions) {
    return versions.status();
  }
  o.log = log.value();
  o.retries = retries.value();
  o.stripes = stripes.value();
  o.versions = versions.value();
  return o;
}

Result<size_t> fur_mv_area_bytes(const Options& options, int max_threads) {
  const auto parsed = FurMvOptions::parse(options, max_threads);
  return parsed ? Result<size_t>(NumberedLogArea(parsed.value().log, max_threads).bytes)
                : Result<size_t>(parsed.status());
}

}  // namespace holdfast
