// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/durability/lag/lag_options.h"
#include "holdfast/engines/undo/undo_options.h"

namespace holdfast::pmdk_like {

/// The options of pmdk-like; kOptions has their meaning.
///
/// snapshot_bytes: each saved range costs two fences by default. With 64, the first store to a line
/// saves the whole line, and later stores to it neither save nor fence. So larger units save fences
/// when stores are close to each other. The price is log space, because the log then has bytes that
/// no store changes.
///
/// checksums: 1 saves one fence per range, since no count must become durable. The checksum tells a
/// whole entry of this transaction from a torn or old one. But a last entry that the medium damages
/// looks torn, so it ends the log without an error.
///
/// readers_first: 1 is the lock of the Romulus paper, for comparison. Readers that come and go
/// without a gap keep writers out forever. All readers store to one line, so they scale worse.
struct PmdkOptions {
  uint64_t snapshot_bytes = 1;
  bool checksums = false;
  bool readers_first = false;

  /// Code::invalid_argument for a value out of range, or a size that is no power of two.
  static Result<PmdkOptions> parse(const Options& options);
};

/// A transaction whose ranges do not fit into log_bytes gets Code::too_large and is rolled back.
/// Crash tests use 8192 bytes (OptionInfo::tiny). The undo engine's 2048 would hold too few entries
/// here, because entries take whole lines.
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
    kCommitOption,
    kLagOption,
    kLagTimeOption,
};

/// Bytes of the engine area. The number of threads does not matter: one thread writes at a time, so
/// there is one log.
Result<size_t> area_bytes(const Options& options, int max_threads);

}  // namespace holdfast::pmdk_like
