// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/onefile/onefile_options.h"

#include "holdfast/base/round.h"

namespace holdfast::onefile {
namespace {

constexpr uint64_t kMagic = 0x3165'6c69'4665'6e4f;  // "OneFile1"

}  // namespace

DoubleWord newest_word(uint64_t sequence, uint64_t slot, uint64_t entries) {
  const uint64_t first = sequence << kSlotBits | slot;
  return {first, mix64(first ^ mix64(entries)) << kEntryBits | entries};
}

Error damaged_cell() {
  return Error(Status(Code::corrupt,
                      "a word's cell is of a transaction that there cannot have been; restore the "
                      "heap file from a copy"));
}

Area::Area(uint64_t bytes_of_a_log, int max_threads)
    : log_bytes(round_down(bytes_of_a_log, kMaxLineBytes)),
      logs(max_threads + 2),
      bytes(kPageBytes + static_cast<size_t>(logs) * log_bytes) {}

AreaHeader Area::header() const {
  return area_header(kMagic, log_bytes, static_cast<uint64_t>(logs), kEntryBytes);
}

Result<Area> area(const Options& options, int max_threads) {
  const auto log_bytes = option_number(options, "log_bytes", 1 << 20, 512, 64 << 20);
  return log_bytes ? Result<Area>(Area(log_bytes.value(), max_threads))
                   : Result<Area>(log_bytes.status());
}

Result<size_t> area_bytes(const Options& options, int max_threads) {
  const auto a = area(options, max_threads);
  return a ? Result<size_t>(a.value().bytes) : Result<size_t>(a.status());
}

}  // namespace holdfast::onefile
