// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/engines/engine.h"

namespace holdfast::swl {

/// The options of both engines; kOptions has their meaning.
///
/// log_bytes: a log that is reused inside the caches hardly adds writes to the medium. So the log
/// takes twice the last level: when it comes back to a line, the line has left the caches. Where no
/// description tells the last level, that of Hercules's machine counts (16 MiB, its table 2).
///
/// unit: 64 saves a line at the first store to it. 8 saves a word at the first store to it: more
/// entries, and fewer bytes where a transaction stores to few words of a line.
struct SwlOptions {
  uint64_t log_bytes = 32 << 20;
  uint64_t unit = kLineBytes;

  /// Code::invalid_argument for a value out of range.
  static Result<SwlOptions> parse(const Options& options);
};

/// The default size of the log, in last levels of the machine.
inline constexpr unsigned kLastLevels = 2;

inline constexpr OptionInfo kOptions[] = {
    {"log_bytes",
     "33554432",
     "size of the undo log, 1024 bytes to 1 GiB; bounds one transaction; on a described machine at "
     "least twice its last level",
     "4096",
     {},
     kLastLevels},
    {"unit", "64", "bytes that one log entry saves: 64 (a line) or 8 (a word)"},
};

/// Bytes of the engine area: the line with the state, and the log. The number of threads does not
/// matter: one thread writes at a time, so there is one log.
Result<size_t> area_bytes(const Options& options, int max_threads);

}  // namespace holdfast::swl
