// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/common/record_area.h"

#include <string>

#include "holdfast/base/random.h"
#include "holdfast/engines/common/record_words.h"

namespace holdfast {
namespace {

size_t pages(size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

Result<uint64_t> parse_records(const Options& options) {
  const auto records = option_number(options, "records", 131072, 16, kMostRecords);
  return records.ok() ? Result<uint64_t>((records.value() + 3) / 4 * 4) : records;
}

Error too_few_records(uint64_t words, uint64_t records) {
  return Error(Status(Code::out_of_space,
                      "the transaction stores to " + std::to_string(words) +
                          " words, and the heap has " + std::to_string(records) +
                          " records; create it with more records, or split the transaction"));
}

RecordArea::RecordArea(uint64_t record_count, int mark_count)
    : records(record_count),
      marks(mark_count),
      mark_offset(kPageBytes),
      record_offset(mark_offset + pages(static_cast<size_t>(marks) * kMarkBytes)),
      bytes(record_offset + records * RecordWords::kBytes) {}

void RecordArea::header(uint64_t magic, uint64_t (&words)[kHeaderWords]) const {
  words[0] = magic;
  words[1] = records;
  words[2] = static_cast<uint64_t>(marks);
  words[3] = RecordWords::kBytes;
  words[4] = mix64(words[0] ^ mix64(words[1] ^ mix64(words[2] ^ mix64(words[3]))));
}

}  // namespace holdfast
