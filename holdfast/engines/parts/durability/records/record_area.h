// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/area_header.h"

namespace holdfast {

inline constexpr uint64_t kMostRecords = uint64_t{1} << 21;

inline constexpr OptionInfo kRecordsOption = {
    "records", "131072",
    "words with a record of 32 bytes at a time, 16 to 2097152, a multiple of 4; bounds one "
    "transaction",
    "64"};

/// Parses `records` and rounds it up to whole lines of the longest machine line.
Result<uint64_t> parse_records(const Options& options);

/// Error for a transaction that stores to more words than there are records.
Error too_few_records(uint64_t words, uint64_t records);

/// Layout of the engine area of an engine with a RecordTable: a page with header, base and Quadra's
/// large batch, a line for each of `marks`, whose meaning is the engine's, then the records.
struct RecordArea {
  static constexpr size_t kBaseOffset = kMaxLineBytes;
  static constexpr size_t kLargeOffset = 4 * kLineBytes;
  static constexpr size_t kMarkBytes = kMaxLineBytes;  ///< so that no two share a line anywhere

  RecordArea(uint64_t record_count, int mark_count);

  /// The header. A mismatch reveals other options, or another engine's bytes.
  AreaHeader header(uint64_t magic) const;

  uint64_t records;
  int marks;
  size_t mark_offset;
  size_t record_offset;
  size_t bytes;
};

}  // namespace holdfast
