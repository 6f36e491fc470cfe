// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/durability/numbered/numbered_log_area.h"

#include "holdfast/base/random.h"
#include "holdfast/base/round.h"

namespace holdfast {
namespace {

constexpr uint64_t kMagic = 0x31676f6c72754668;  // "hFurlog1"

int log_count(int max_threads) {
  return max_threads + 2;
}

}  // namespace

Result<NumberedLogOptions> NumberedLogOptions::parse(const Options& options, int max_threads) {
  NumberedLogOptions o;
  // After a check that the array is not full, each thread may take one number. Progress needs one
  // more slot.
  const auto least = static_cast<uint64_t>(log_count(max_threads)) + 2;
  const auto log_bytes = option_number(options, "log_bytes", o.log_bytes, 512, 64 << 20);
  const auto markers = option_number(options, "markers", o.markers, least, 1 << 24);
  const auto background = option_number(options, "background", 1, 0, 1);
  const auto replayers = option_number(options, "replayers", 1, 1, kMostReplayers);
  for (const auto* result : {&log_bytes, &markers, &background, &replayers}) {
    if (!result->ok()) {
      return result->status();
    }
  }
  o.log_bytes = round_down(log_bytes.value(), kMaxLineBytes);
  o.markers = markers.value();
  o.background = background.value() == 1;
  o.replayers = replayers.value();
  return o;
}

NumberedLogArea::NumberedLogArea(const NumberedLogOptions& options, int max_threads)
    : logs(log_count(max_threads)),
      log_bytes(options.log_bytes),
      markers(options.markers),
      marker_offset(kPageBytes),
      log_offset(marker_offset + round_up(markers * kLineBytes, kPageBytes)),
      bytes(log_offset + static_cast<size_t>(logs) * log_bytes) {}

void NumberedLogArea::header(uint64_t (&words)[kHeaderWords]) const {
  words[0] = kMagic;
  words[1] = log_bytes;
  words[2] = markers << 16 | static_cast<uint64_t>(logs);
  words[3] = mix64(words[0] ^ mix64(words[1] ^ mix64(words[2])));
}

}  // namespace holdfast
