// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Options of engines that keep their transactions in StampedLogs.
struct StampedLogOptions {
  uint64_t log_bytes = 1 << 20;  ///< of each thread's log; a whole number of lines
  bool background = true;        ///< reclaim log space in a thread of its own

  static Result<StampedLogOptions> parse(const Options& options);
};

inline constexpr OptionInfo kStampedLogBytesOption = {
    "log_bytes", "1048576", "log per thread, 512 bytes to 64 MiB; bounds one transaction", "2048"};
inline constexpr OptionInfo kReclaimInBackgroundOption = {
    "background", "1", "1: reclaim log space in a thread of its own; 0: only when a log is full"};

/// Layout of the engine area: one page with a header, one line per thread with the tail of its log,
/// then the logs.
struct StampedLogsArea {
  static constexpr size_t kHeaderWords = 4;

  StampedLogsArea(const StampedLogOptions& options, int max_threads);

  /// The header's words. A mismatch reveals other options, or another engine's bytes.
  void header(uint64_t magic, uint64_t (&words)[kHeaderWords]) const;

  int logs;  ///< one per slot: the machine's main and background threads have slots as well
  uint64_t log_bytes;
  size_t tail_offset;
  size_t log_offset;
  size_t bytes;
};

}  // namespace holdfast
