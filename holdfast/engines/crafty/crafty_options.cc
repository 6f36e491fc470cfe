// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/crafty/crafty_options.h"

#include "holdfast/base/random.h"
#include "holdfast/base/round.h"

namespace holdfast {
namespace {

constexpr uint64_t kMagic = 0x3174666172436648;  // "HfCraft1"

}  // namespace

Result<CraftyOptions> CraftyOptions::parse(const Options& options) {
  CraftyOptions o;
  const auto retries = option_number(options, "retries", o.retries, 0, 1000);
  const auto log_bytes = option_number(options, "log_bytes", o.log_bytes, 512, 64 << 20);
  const auto chunk = option_number(options, "chunk", o.chunk, 1, 65536);
  for (const auto* result : {&retries, &log_bytes, &chunk}) {
    if (!result->ok()) {
      return result->status();
    }
  }
  o.retries = retries.value();
  o.log_bytes = round_down(log_bytes.value(), CraftyArea::kEntryBytes);
  o.chunk = chunk.value();
  return o;
}

CraftyArea::CraftyArea(const CraftyOptions& options, int max_threads)
    : logs(max_threads + 2),
      entries(options.log_bytes / kEntryBytes),
      chunk(options.chunk),
      log_offset(round_up(kMarkOffset + static_cast<size_t>(logs) * kLineBytes, kPageBytes)),
      log_extent(round_up(entries * kEntryBytes + (entries + chunk - 1) / chunk * kBlockHeadBytes,
                          kMaxLineBytes)),
      bytes(log_offset + static_cast<size_t>(logs) * log_extent) {}

void CraftyArea::header(uint64_t (&words)[kHeaderWords]) const {
  words[0] = kMagic;
  words[1] = entries;
  words[2] = chunk;
  words[3] = static_cast<uint64_t>(logs);
  words[4] = mix64(words[0] ^ mix64(words[1] ^ mix64(words[2] ^ mix64(words[3]))));
}

Result<size_t> crafty_area_bytes(const Options& options, int max_threads) {
  const auto parsed = CraftyOptions::parse(options);
  return parsed ? Result<size_t>(CraftyArea(parsed.value(), max_threads).bytes)
                : Result<size_t>(parsed.status());
}

}  // namespace holdfast
