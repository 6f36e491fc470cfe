// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/trinity/trinity_options.h"

namespace holdfast::trinity {

Result<RecordArea> area(const Options& options, int max_threads) {
  const auto lsa = LsaOptions::parse(options);
  const auto records = parse_records(options);
  if (!lsa || !records) {
    return lsa ? records.status() : lsa.status();
  }
  return RecordArea(records.value(), max_threads + 2);
}

Result<size_t> area_bytes(const Options& options, int max_threads) {
  const auto a = area(options, max_threads);
  return a ? Result<size_t>(a.value().bytes) : Result<size_t>(a.status());
}

}  // namespace holdfast::trinity
