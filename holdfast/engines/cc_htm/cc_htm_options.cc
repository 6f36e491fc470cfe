// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/cc_htm/cc_htm_options.h"

#include "holdfast/base/round.h"

namespace holdfast::cc_htm {
namespace {

constexpr uint64_t kMagic = 0x316d7468636366;  // "fcchtm1"
constexpr int kOtherThreads = 2;               // the main thread, and the background thread
constexpr const char* kPrintedNames[] = {"none",     "start",    "evict",     "early_min",
                                         "no_flush", "deletion", "late_store"};

}  // namespace

Result<CcOptions> CcOptions::parse(const Options& options) {
  const auto retries = option_number(options, kRetriesOption, 0, 1000);
  const auto log = option_number(options, kLogBytesOption, 512, 64 << 20);
  const auto alias = option_number(options, kAliasBytesOption, 64, uint64_t{4} << 30);
  const auto ways = option_number(options, kWaysOption, 1, 16);
  const auto ring = option_number(options, kRingOption, 4, 1 << 20);
  const auto patience = option_number(options, kPatienceOption, 1, 1'000'000'000);
  for (const auto* result : {&retries, &log, &alias, &ways, &ring, &patience}) {
    if (!result->ok()) {
      return result->status();
    }
  }
  const auto lag = LagOptions::parse(options);
  if (!lag) {
    return lag.status();
  }
  const auto printed = option_choice(options, kPrintedOption, kPrintedNames);
  if (!printed) {
    return printed.status();
  }
  return CcOptions{.retries = retries.value(),
                   .log_bytes = round_down(log.value(), kLineBytes),
                   .alias_bytes = alias.value(),
                   .ways = ways.value(),
                   .ring = ring.value(),
                   .patience_us = patience.value(),
                   .printed = static_cast<Printed>(printed.value()),
                   .lag = lag.value()};
}

CcArea::CcArea(const CcOptions& options, int max_threads)
    : logs(max_threads + kOtherThreads), log_bytes(options.log_bytes) {}

AreaHeader CcArea::header() const {
  return area_header(kMagic, static_cast<uint64_t>(logs), log_bytes, 0);
}

Result<size_t> area_bytes(const Options& options, int max_threads) {
  const auto parsed = CcOptions::parse(options);
  return parsed ? Result<size_t>(CcArea(parsed.value(), max_threads).bytes())
                : Result<size_t>(parsed.status());
}

}  // namespace holdfast::cc_htm
