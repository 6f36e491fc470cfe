// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/pisces/pisces_options.h"

#include "holdfast/base/random.h"
#include "holdfast/base/round.h"

namespace holdfast {
namespace {

constexpr uint64_t kMagic = 0x31676f6c63736950;  // "Pisclog1"

}  // namespace

Result<PiscesOptions> PiscesOptions::parse(const Options& options) {
  PiscesOptions o;
  const auto log_bytes = option_number(options, "log_bytes", o.log_bytes, 512, 64 << 20);
  const auto locks = parse_locks(options);
  const auto patience = parse_patience(options);
  for (const auto* result : {&log_bytes, &locks, &patience}) {
    if (!result->ok()) {
      return result->status();
    }
  }
  o.log_bytes = round_down(log_bytes.value(), kMaxLineBytes);
  o.locks = locks.value();
  o.patience = patience.value();
  return o;
}

void PiscesArea::header(uint64_t (&words)[kHeaderWords]) const {
  words[0] = kMagic;
  words[1] = log_bytes;
  words[2] = static_cast<uint64_t>(logs);
  words[3] = mix64(words[0] ^ mix64(words[1] ^ mix64(words[2])));
}

Result<size_t> pisces_area_bytes(const Options& options, int max_threads) {
  const auto parsed = PiscesOptions::parse(options);
  return parsed ? Result<size_t>(PiscesArea(parsed.value(), max_threads).bytes)
                : Result<size_t>(parsed.status());
}

}  // namespace holdfast
