// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/ptl2/ptl2_options.h"

namespace holdfast::ptl2 {
namespace {

constexpr int kOtherThreads = 2;                 // the main thread, and one in the background
constexpr uint64_t kMagic = 0x31676f6c326c7470;  // "ptl2log1"

}  // namespace

Result<Area> Area::parse(const Options& options, int slots) {
  const auto log = option_number(options, kLogBytesOption, 512, 1 << 30);
  const auto batch = option_number(options, kBatchOption, 0, 1);
  const auto locks = parse_locks(options);
  const auto patience = parse_patience(options);
  for (const auto* result : {&log, &batch, &locks, &patience}) {
    if (!result->ok()) {
      return result->status();
    }
  }
  const size_t lines = (log.value() + kLineBytes - 1) / kLineBytes;
  return Area{.log_bytes = (lines + 1) * kLineBytes,
              .slots = slots + kOtherThreads,
              .batch = batch.value() == 1};
}

AreaHeader Area::header() const {
  return area_header(kMagic, log_bytes, static_cast<uint64_t>(slots), batch ? 1 : 0);
}

Result<size_t> area_bytes(const Options& options, int slots) {
  const auto area = Area::parse(options, slots);
  return area ? Result<size_t>(area.value().bytes()) : Result<size_t>(area.status());
}

}  // namespace holdfast::ptl2
