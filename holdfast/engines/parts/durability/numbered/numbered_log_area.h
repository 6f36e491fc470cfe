// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/log_replay.h"

namespace holdfast {

/// Options of engines that keep a NumberedLog.
struct NumberedLogOptions {
  uint64_t log_bytes = 1 << 20;  ///< of each thread's redo log; a whole number of lines
  uint64_t markers = 65536;      ///< M: most update transactions between the tail and the newest
  bool background = true;        ///< replay in a thread of its own
  uint64_t replayers = 1;        ///< threads that replay when the heap is closed or recovered

  static Result<NumberedLogOptions> parse(const Options& options, int max_threads);
};

/// Their entries in `holdfast engines`.
inline constexpr OptionInfo kLogBytesOption = {
    "log_bytes", "1048576", "redo log per thread, 512 bytes to 64 MiB; bounds one transaction",
    "2048"};
inline constexpr OptionInfo kMarkersOption = {
    "markers", "65536", "durability markers, more than max_threads + 3, up to 16777216", "16"};

/// Layout of the engine area: one page with header and tail, the markers, then the logs.
struct NumberedLogArea {
  static constexpr size_t kHeaderWords = 4;
  static constexpr size_t kTailOffset = kMaxLineBytes;

  NumberedLogArea(const NumberedLogOptions& options, int max_threads);

  /// The header's words. A mismatch reveals other options, or another engine's bytes.
  void header(uint64_t (&words)[kHeaderWords]) const;

  /// One per slot: the machine's main and background threads have slots as well.
  int logs;
  uint64_t log_bytes;
  uint64_t markers;
  size_t marker_offset;
  size_t log_offset;
  size_t bytes;
};

}  // namespace holdfast
