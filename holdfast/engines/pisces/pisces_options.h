// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/isolation/stm/lsa_options.h"

namespace holdfast {

struct PiscesOptions {
  uint64_t log_bytes = 1 << 20;  ///< of each thread's log; a whole number of lines
  uint64_t locks = LsaOptions().locks;
  uint64_t patience = LsaOptions().patience;

  static Result<PiscesOptions> parse(const Options& options);
};

inline constexpr OptionInfo kPiscesOptions[] = {
    {"log_bytes", "1048576", "log per thread, 512 bytes to 64 MiB; bounds one transaction", "2048"},
    kLocksOption,
    kPatienceOption,
};

/// Layout of the engine area: one page with a header, then a log per thread, which holds at most
/// one block.
struct PiscesArea {
  static constexpr size_t kHeaderWords = 4;
  static constexpr size_t kLogOffset = kPageBytes;

  PiscesArea(const PiscesOptions& options, int max_threads)
      : logs(max_threads + 2),
        log_bytes(options.log_bytes),
        bytes(kLogOffset + static_cast<size_t>(logs) * log_bytes) {}

  /// The header's words. A mismatch reveals other options, or another engine's bytes.
  void header(uint64_t (&words)[kHeaderWords]) const;

  int logs;  ///< one per slot: the machine's main and background threads have slots as well
  uint64_t log_bytes;
  size_t bytes;
};

Result<size_t> pisces_area_bytes(const Options& options, int max_threads);

inline constexpr Description kPisces = {
    .name = "pisces",
    .title = "Pisces: two versions of the stripes being changed, readers never abort",
    .paper = "Pisces (USENIX ATC 2019), section 3",
    .isolation = Isolation::snapshot,
    .durability = Durability::strict,
    .layout = Layout::in_place,
    .needs_htm = false,
    .log = "redo, per thread",
    .fences = "3",
    .options = kPiscesOptions,
    .option_count = sizeof(kPiscesOptions) / sizeof(kPiscesOptions[0]),
    .area_bytes = &pisces_area_bytes,
    .most_bytes = RedoRecord::kMostBytes,
};

}  // namespace holdfast
