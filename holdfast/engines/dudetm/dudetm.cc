// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/dudetm/dudetm.h"

namespace holdfast::dudetm {

Result<uint64_t> log_combination(const Options& options) {
  return option_number(options, kCombinationOption.name, 1, 0, 1);
}

Result<size_t> area_bytes(const Options& options, int max_threads) {
  const auto lag = LagOptions::parse(options);
  const auto logs = StampedLogOptions::parse(options);
  const auto combines = log_combination(options);
  if (!lag || !combines) {
    return lag ? combines.status() : lag.status();
  }
  if (logs.ok() && !logs.value().background && lag.value().bound > 0) {
    return Status(Code::invalid_argument,
                  "a lag needs the background thread, which bounds the age of updates; leave out "
                  "option background=0, or the lag");
  }
  return logged_lsa_area_bytes(options, max_threads);
}

}  // namespace holdfast::dudetm
