// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/durability/lag/lag_options.h"
#include "holdfast/engines/parts/durability/numbered/numbered_log_area.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"

namespace holdfast {

struct FurMvOptions {
  NumberedLogOptions log;
  uint64_t retries = 10;       ///< lost conflicts before the update takes the right of way
  uint64_t stripes = 1 << 20;  ///< entries of the version table

  uint64_t versions = 102;  ///< allocated at a time; at 40 bytes each, a page

  static Result<FurMvOptions> parse(const Options& options, int max_threads);
};

Result<size_t> fur_mv_area_bytes(const Options& options, int max_threads);

inline constexpr OptionInfo kFurMvOptions[] = {
    {"log_bytes", "1048576",
     "redo log per thread, 512 bytes to 64 MiB; a larger transaction takes a log in the heap's "
     "data",
     "2048"},
    kMarkersOption,
    {"retries", "10", "conflicts an update may lose before others wait for it, 0 to 1000"},
    {"stripes", "1048576",
     "stripes of 32 bytes, the unit of conflicts and versions, 16 to 67108864; each takes 16 bytes "
     "of memory",
     "64"},
    {"versions", "102", "old values that a thread allocates memory for at a time, 1 to 65536", "1"},
    kBackgroundOption,
    kReplayersOption,
    kCommitOption,
    kLagOption,
    kLagTimeOption,
};

inline constexpr Description kFurMv = {
    .name = "fur-mv",
    .title = "FUR's durability over multi-versioning in software: readers never wait or abort",
    .paper = "FUR (EuroSys 2026), 3.2 and 3.3, without hardware transactions",
    .isolation = Isolation::snapshot,
    .durability = Durability::strict,
    .layout = Layout::working_copy,
    .needs_htm = false,
    .answers_behind_psync = true,
    .plain_reads = true,
    .any_size = true,
    .log = "redo, per thread",
    .fences = "2",
    .options = kFurMvOptions,
    .option_count = sizeof(kFurMvOptions) / sizeof(kFurMvOptions[0]),
    .area_bytes = &area_bytes_with_lag<&fur_mv_area_bytes>,
    .promise = &LagOptions::promise,
    .most_bytes = RedoRecord::kMostBytes,
};

}  // namespace holdfast
