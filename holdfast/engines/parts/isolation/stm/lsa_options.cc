// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/isolation/stm/lsa_options.h"

namespace holdfast {

Result<uint64_t> parse_locks(const Options& options) {
  return option_number(options, "locks", LsaOptions().locks, 16, uint64_t{1} << 28);
}

Result<uint64_t> parse_patience(const Options& options) {
  return option_number(options, "patience", LsaOptions().patience, 1, 1'000'000);
}

Result<LsaOptions> LsaOptions::parse(const Options& options) {
  LsaOptions o;
  const auto locks = parse_locks(options);
  const auto patience = parse_patience(options);
  const auto untracked = option_number(options, "untracked_reads", o.untracked_reads, 0, 1'000'000);
  for (const auto* result : {&locks, &patience, &untracked}) {
    if (!result->ok()) {
      return result->status();
    }
  }
  o.locks = locks.value();
  o.patience = patience.value();
  o.untracked_reads = untracked.value();
  return o;
}

}  // namespace holdfast
