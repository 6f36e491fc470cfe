// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/engine.h"

namespace holdfast::undo {

inline constexpr OptionInfo kLogBytesOption = {
    "log_bytes", "16777216", "size of the undo log, 1024 bytes to 1 GiB; bounds one transaction",
    "2048"};

/// Bytes of the engine area: the line with the state word, and the log.
inline Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
  auto log = option_number(options, "log_bytes", 16 << 20, 1024, 1 << 30);
  return log ? Result<size_t>(kLineBytes + *log) : Result<size_t>(log.status());
}

}  // namespace holdfast::undo
