// SPDX-License-Identifier: Apache-2.0
//
// The options of engines whose durability may lag.
#pragma once

#include <cstdint>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Rows for the option table of an engine that can lag.
inline constexpr OptionInfo kCommitOption = {
    "commit", "durable", "durable or later, for updates without a word; later if a lag is given"};
inline constexpr OptionInfo kLagOption = {
    "lag", "0",
    "most acknowledged updates that a crash may take; 0: none; 1024 if only a time or later is "
    "given"};
inline constexpr OptionInfo kLagTimeOption = {
    "lag_ms", "100", "with a lag: age in milliseconds at which an update is made durable"};

/// The lag of a heap.
struct LagOptions {
  uint64_t bound = 0;     ///< acknowledged updates that may be lost; 0: every update is durable
  uint64_t age_ms = 100;  ///< the flusher makes older updates durable
  bool later = false;     ///< an update without a word commits later

  /// Returns invalid_argument for a malformed value.
  static Result<LagOptions> parse(const Options& options);
  /// Returns the promise that these options make. They must be well-formed.
  static Promise promise(const Options& options);
};

}  // namespace holdfast
