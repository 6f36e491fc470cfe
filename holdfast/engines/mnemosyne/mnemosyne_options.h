// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/durability/stamped/stamped_logs_area.h"
#include "holdfast/engines/parts/isolation/stm/lsa_options.h"

namespace holdfast {

/// Options in addition to those of the lazy snapshot algorithm.
struct MnemosyneOptions {
  uint64_t log_bytes = StampedLogOptions().log_bytes;  ///< of each thread's log
  bool tornbit = false;

  static Result<MnemosyneOptions> parse(const Options& options);

  /// Layout: one page with a header, a line per thread with its log's commit record or head, then
  /// the logs.
  StampedLogsArea area(int max_threads) const {
    return {{.log_bytes = log_bytes, .background = false}, max_threads};
  }
  /// Magic number of the header, which tells the kind of the logs.
  uint64_t magic() const {
    return tornbit ? 0x3174696274736e6d   // "mnstbit1"
                   : 0x31676f6c65736e6d;  // "mnselog1"
  }
};

inline constexpr OptionInfo kMnemosyneOptions[] = {
    kStampedLogBytesOption,
    {"tornbit", "0",
     "0: log and commit record have a fence each; 1: one fence, by a bit in each word of the log"},
    kLocksOption,
    kPatienceOption,
    kUntrackedReadsOption,
};

Result<size_t> mnemosyne_area_bytes(const Options& options, int max_threads);

}  // namespace holdfast
