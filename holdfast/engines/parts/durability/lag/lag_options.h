// SPDX-License-Identifier: Apache-2.0
//
// The options of engines whose durability may lag, by themselves or over a journal.
#pragma once

#include <cstdint>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Rows for the option table of an engine that can lag, or that runs over a journal and so can lag
/// there.
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

/// Description::area_bytes for an engine with the options of a lag, from that of one without.
template <Result<size_t> (*kAreaBytes)(const Options&, int)>
Result<size_t> area_bytes_with_lag(const Options& options, int slots) {
  const auto lag = LagOptions::parse(options);
  return lag.ok() ? kAreaBytes(options, slots) : Result<size_t>(lag.status());
}

}  // namespace holdfast
