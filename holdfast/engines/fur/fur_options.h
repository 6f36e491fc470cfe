// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/parts/durability/numbered/numbered_log_area.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"

namespace holdfast {

/// The stamps that the pruned durability wait compares.
enum class FurTimestamps : uint8_t {
  fixed,       ///< transaction numbers: no race, no clock
  as_printed,  ///< the clock, read where Algorithm 1 reads it: loses acknowledged data; for study
               ///< only
};

struct FurOptions {
  NumberedLogOptions log;
  uint64_t retries = 10;  ///< hardware attempts before the global lock
  FurTimestamps timestamps = FurTimestamps::fixed;

  static Result<FurOptions> parse(const Options& options, int max_threads);
};

inline constexpr OptionInfo kTimestampsOption = {
    "timestamps", "fixed",
    "fixed, or as_printed: the paper's order of time stamps, which loses data"};

inline constexpr OptionInfo kFurOptions[] = {
    kLogBytesOption,
    kMarkersOption,
    {"retries", "10", "hardware transactions tried before the global lock, 0 to 1000"},
    kTimestampsOption,
    kBackgroundOption,
    kReplayersOption,
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
    .most_bytes = RedoRecord::kMostBytes,
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
    .most_bytes = RedoRecord::kMostBytes,
};

}  // namespace holdfast
