// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Which stamps the pruned durability wait compares.
enum class FurTimestamps : uint8_t {
  fixed,       ///< transaction numbers: no race, no clock
  as_printed,  ///< the clock, read where Algorithm 1 reads it: loses acknowledged data, for study
               ///< only
};

struct FurOptions {
  uint64_t log_bytes = 1 << 20;  ///< of each thread's redo log; a whole number of lines
  uint64_t markers = 65536;      ///< M: update transactions between the tail and the newest
  uint64_t retries = 10;         ///< hardware attempts before the global lock
  FurTimestamps timestamps = FurTimestamps::fixed;
  bool background = true;  ///< replay in a thread of its own

  static Result<FurOptions> parse(const Options& options, int max_threads);
};

inline constexpr OptionInfo kFurOptions[] = {
    {"log_bytes", "1048576", "redo log per thread, 512 bytes to 64 MiB; bounds one transaction",
     "2048"},
    {"markers", "65536", "durability markers, more than max_threads + 3, up to 16777216", "16"},
    {"retries", "10", "hardware transactions tried before the global lock, 0 to 1000"},
    {"timestamps", "fixed",
     "fixed, or as_printed: the paper's order of time stamps, which loses data"},
    {"background", "1", "1: replay logs in a thread of their own; 0: only when one is full"},
};

/// Where things lie in the engine area: one page with header and tail, the markers, then the logs.
struct FurArea {
  static constexpr size_t kHeaderWords = 4;
  static constexpr size_t kTailOffset = 2 * kLineBytes;

  FurArea(const FurOptions& options, int max_threads);

  /// What the header says: enough to notice other options, or another engine's bytes.
  void header(uint64_t (&words)[kHeaderWords]) const;

  /// Slots are given out per thread; the machine's main and background threads have slots as well.
  int logs;
  uint64_t log_bytes;
  uint64_t markers;
  size_t marker_offset;
  size_t log_offset;
  size_t bytes;
};

Result<size_t> fur_area_bytes(const Options& options, int max_threads);

inline constexpr Description kFurOpa = {
    .name = "fur-opa",
    .title = "FUR, opaque: hardware transactions, unlimited reads for read-only transactions",
    .paper = "FUR (EuroSys 2026), section 3",
    .isolation = Isolation::opaque,
    .durability = Durability::strict,
    .layout = Layout::working_copy,
    .needs_htm = true,
    .log = "redo, per thread",
    .fences = "2",
    .options = kFurOptions,
    .option_count = sizeof(kFurOptions) / sizeof(kFurOptions[0]),
    .area_bytes = &fur_area_bytes,
};

inline constexpr Description kFurSi = {
    .name = "fur-si",
    .title = "FUR, snapshot isolation: hardware transactions, unlimited reads for all",
    .paper = "FUR (EuroSys 2026), section 3",
    .isolation = Isolation::snapshot,
    .durability = Durability::strict,
    .layout = Layout::working_copy,
    .needs_htm = true,
    .log = "redo, per thread",
    .fences = "2",
    .options = kFurOptions,
    .option_count = sizeof(kFurOptions) / sizeof(kFurOptions[0]),
    .area_bytes = &fur_area_bytes,
};

}  // namespace holdfast
