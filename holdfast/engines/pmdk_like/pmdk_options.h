// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/undo/undo_options.h"

namespace holdfast::pmdk_like {

/// The options of pmdk-like; kOptions has their meaning.
struct PmdkOptions {
  uint64_t snapshot_bytes = 1;
  bool checksums = false;
  bool readers_first = false;

  static Result<PmdkOptions> parse(const Options& options);
};

inline constexpr OptionInfo kOptions[] = {
    {undo::kLogBytesOption.name, undo::kLogBytesOption.fallback, undo::kLogBytesOption.help,
     "8192"},
    {"snapshot_bytes", "1",
     "ranges are widened to multiples of this, a power of two up to 4096; 1: not at all"},
    {"checksums", "0",
     "0: entries are counted, with a fence of its own for each; 1: an entry counts by its "
     "checksum"},
    {"readers_first", "0",
     "0: a lock that prefers writers, each reader on a line of its own; 1: one that prefers "
     "readers, all on one line"},
};

Result<size_t> area_bytes(const Options& options, int max_threads);

}  // namespace holdfast::pmdk_like
