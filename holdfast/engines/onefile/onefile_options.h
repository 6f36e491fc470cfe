// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/area_header.h"
#include "holdfast/engines/parts/durability/numbered/numbered_log_area.h"
#include "holdfast/machine/double_word.h"

namespace holdfast::onefile {

inline constexpr OptionInfo kOptions[] = {kLogBytesOption};

/// The newest transaction is a DoubleWord:
///
///   first    sequence << kSlotBits | thread slot
///   second   check << kEntryBits | entries: the number of its log's entries while it is pending, 0
///            once it is over
inline constexpr int kSlotBits = 10;
inline constexpr int kEntryBits = 24;
static_assert(kMaxThreads + 2 <= 1 << kSlotBits);

DoubleWord newest_word(uint64_t sequence, uint64_t slot, uint64_t entries);
inline uint64_t sequence_of(const DoubleWord& newest) {
  return newest.first >> kSlotBits;
}
inline uint64_t slot_of(const DoubleWord& newest) {
  return newest.first % (uint64_t{1} << kSlotBits);
}
inline uint64_t entries_of(const DoubleWord& newest) {
  return newest.second % (uint64_t{1} << kEntryBits);
}
/// The same transaction, no longer pending.
inline DoubleWord over(const DoubleWord& newest) {
  return newest_word(sequence_of(newest), slot_of(newest), 0);
}

/// The error of a transaction that meets a cell with a sequence that was never given out.
Error damaged_cell();

/// The layout of the engine area: a page with header, base and the newest transaction, then the
/// logs, with 16 bytes for each word that a transaction stores to.
struct Area {
  static constexpr size_t kBaseOffset = kMaxLineBytes;
  static constexpr size_t kNewestOffset = 4 * kLineBytes;
  static constexpr size_t kEntryBytes = 16;

  Area(uint64_t bytes_of_a_log, int max_threads);

  AreaHeader header() const;
  size_t log_offset(uint64_t slot) const { return kPageBytes + slot * log_bytes; }
  uint64_t entries() const { return log_bytes / kEntryBytes; }

  uint64_t log_bytes;  ///< a whole number of lines
  int logs;            ///< the machine's main and background threads have slots as well
  size_t bytes;
};

Result<Area> area(const Options& options, int max_threads);
Result<size_t> area_bytes(const Options& options, int max_threads);

}  // namespace holdfast::onefile
