// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/pmdk_like/pmdk_options.h"

#include <bit>

namespace holdfast::pmdk_like {

Result<PmdkOptions> PmdkOptions::parse(const Options& options) {
  PmdkOptions parsed;
  const auto unit = option_number(options, "snapshot_bytes", parsed.snapshot_bytes, 1, kPageBytes);
  const auto checksums = option_number(options, "checksums", 0, 0, 1);
  const auto readers_first = option_number(options, "readers_first", 0, 0, 1);
  for (const auto* read : {&unit, &checksums, &readers_first}) {
    if (!*read) {
      return read->status();
    }
  }
  if (!std::has_single_bit(unit.value())) {
    return Status(Code::invalid_argument, "option snapshot_bytes=" + std::to_string(unit.value()) +
                                              " is not a power of two");
  }
  parsed.snapshot_bytes = unit.value();
  parsed.checksums = checksums.value() == 1;
  parsed.readers_first = readers_first.value() == 1;
  return parsed;
}

Result<size_t> area_bytes(const Options& options, int max_threads) {
  const auto parsed = PmdkOptions::parse(options);
  return parsed.ok() ? undo::area_bytes(options, max_threads) : Result<size_t>(parsed.status());
}

}  // namespace holdfast::pmdk_like
