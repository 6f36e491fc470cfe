// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"

namespace holdfast {

struct CraftyOptions {
  uint64_t retries = 10;         ///< hardware transactions before the global lock
  uint64_t log_bytes = 1 << 20;  ///< of undo entries per thread; bounds one transaction
  uint64_t chunk = 64;           ///< words logged with one fence under the lock

  static Result<CraftyOptions> parse(const Options& options);
};

inline constexpr OptionInfo kCraftyOptions[] = {
    {"retries", "10", "hardware transactions tried before the global lock, 0 to 1000"},
    {"log_bytes", "1048576",
     "undo entries per thread, 512 bytes to 64 MiB, 16 for each word stored to; bounds one "
     "transaction",
     "2048"},
    {"chunk", "64", "words that are logged with one fence under the global lock, 1 to 65536", "4"},
};

/// Layout of the engine area: header, a mark per thread, a log per thread.
struct CraftyArea {
  static constexpr size_t kHeaderWords = 5;
  static constexpr size_t kMarkOffset = kMaxLineBytes;
  static constexpr size_t kEntryBytes = 2 * sizeof(uint64_t);
  static constexpr size_t kBlockHeadBytes = 4 * sizeof(uint64_t);

  CraftyArea(const CraftyOptions& options, int max_threads);

  /// The header's words. A mismatch reveals other options, or another engine's bytes.
  void header(uint64_t (&words)[kHeaderWords]) const;

  int logs;          ///< one per slot: the machine's main and background threads have slots as well
  uint64_t entries;  ///< most entries of a transaction
  uint64_t chunk;
  size_t log_offset;
  size_t log_extent;  ///< of one log: the entries, and a head for each block they may need
  size_t bytes;
};

Result<size_t> crafty_area_bytes(const Options& options, int max_threads);

}  // namespace holdfast
