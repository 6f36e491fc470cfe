// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/durability/stamped/stamped_logs_area.h"

#include "holdfast/base/random.h"
#include "holdfast/base/round.h"

namespace holdfast {

Result<StampedLogOptions> StampedLogOptions::parse(const Options& options) {
  StampedLogOptions o;
  const auto log_bytes = option_number(options, "log_bytes", o.log_bytes, 512, 64 << 20);
  const auto background = option_number(options, "background", 1, 0, 1);
  for (const auto* result : {&log_bytes, &background}) {
    if (!result->ok()) {
      return result->status();
    }
  }
  o.log_bytes = round_down(log_bytes.value(), kMaxLineBytes);
  o.background = background.value() == 1;
  return o;
}

StampedLogsArea::StampedLogsArea(const StampedLogOptions& options, int max_threads)
    : logs(max_threads + 2),
      log_bytes(options.log_bytes),
      tail_offset(kPageBytes),
      log_offset(tail_offset + round_up(static_cast<size_t>(logs) * kLineBytes, kPageBytes)),
      bytes(log_offset + static_cast<size_t>(logs) * log_bytes) {}

void StampedLogsArea::header(uint64_t magic, uint64_t (&words)[kHeaderWords]) const {
  words[0] = magic;
  words[1] = log_bytes;
  words[2] = static_cast<uint64_t>(logs);
  words[3] = mix64(words[0] ^ mix64(words[1] ^ mix64(words[2])));
}

}  // namespace holdfast
