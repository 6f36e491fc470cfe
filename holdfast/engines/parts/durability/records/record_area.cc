// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/durability/records/record_area.h"

#include <string>

#include "holdfast/base/round.h"
#include "holdfast/engines/parts/durability/records/record_words.h"

namespace holdfast {

Result<uint64_t> parse_records(const Options& options) {
  const auto records = option_number(options, "records", 131072, 16, kMostRecords);
  return records.ok() ? Result<uint64_t>(round_up(records.value(), 4)) : records;
}

Error too_few_records(uint64_t words, uint64_t records) {
  return Error(Status(Code::too_large,
                      "the transaction stores to " + std::to_string(words) +
                          " words, and the heap has " + std::to_string(records) +
                          " records; create it with more records, or split the transaction"));
}

RecordArea::RecordArea(uint64_t record_count, int mark_count)
    : records(record_count),
      marks(mark_count),
      mark_offset(kPageBytes),
      record_offset(mark_offset + round_up(static_cast<size_t>(marks) * kMarkBytes, kPageBytes)),
      bytes(record_offset + records * RecordWords::kBytes) {}

AreaHeader RecordArea::header(uint64_t magic) const {
  return area_header(magic, records, static_cast<uint64_t>(marks), RecordWords::kBytes);
}

}  // namespace holdfast
