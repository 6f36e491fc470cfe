// SPDX-License-Identifier: Apache-2.0
//
// The options of engines with flat combining (combined_engine.h).
#pragma once

#include "holdfast/engines/parts/durability/lag/lag_options.h"

namespace holdfast {

/// A row for the option tables of these engines.
inline constexpr OptionInfo kCombineOption = {
    "combine", "1",
    "0: every thread runs its own updates; 1: one thread runs those of all that wait"};

struct CombinedOptions {
  bool combine = true;
  /// A read returns only when what it has seen is durable. Where updates may lag, reads see them
  /// before they are durable. So they need not wait for other updates either: each reader would
  /// wait for the medium beside a writer.
  bool readers_wait = true;

  /// Returns invalid_argument for a malformed value.
  static Result<CombinedOptions> parse(const Options& options) {
    const auto combine = option_number(options, kCombineOption.name, 1, 0, 1);
    const auto lag = LagOptions::parse(options);
    if (!combine || !lag) {
      return combine ? lag.status() : combine.status();
    }
    return CombinedOptions{.combine = combine.value() == 1, .readers_wait = lag.value().bound == 0};
  }

  /// Returns the promise that these options make. They must be well-formed.
  static Promise promise(const Options& options) {
    Promise promise = LagOptions::promise(options);
    promise.observed = parse(options).value().readers_wait;
    return promise;
  }
};

}  // namespace holdfast
