// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/swl/swl_options.h"

namespace holdfast::swl {

Result<SwlOptions> SwlOptions::parse(const Options& options) {
  auto log = option_number(options, kOptions[0], 1024, 1 << 30);
  if (!log) {
    return log.status();
  }
  auto unit = option_number(options, kOptions[1], sizeof(uint64_t), kLineBytes);
  if (!unit) {
    return unit.status();
  }
  if (*unit != sizeof(uint64_t) && *unit != kLineBytes) {
    return wrong_value("option unit", std::to_string(*unit), "8 or 64");
  }
  return SwlOptions{.log_bytes = *log, .unit = *unit};
}

Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
  auto parsed = SwlOptions::parse(options);
  return parsed.ok() ? Result<size_t>(kLineBytes + parsed->log_bytes)
                     : Result<size_t>(parsed.status());
}

}  // namespace holdfast::swl
