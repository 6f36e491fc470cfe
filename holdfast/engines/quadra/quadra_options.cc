// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/quadra/quadra_options.h"

namespace holdfast::quadra {

Result<RecordArea> area(const Options& options) {
  const auto records = parse_records(options);
  const auto combined = CombinedOptions::parse(options);
  if (!records || !combined) {
    return records ? combined.status() : records.status();
  }
  return RecordArea(records.value(), 0);
}

Result<size_t> area_bytes(const Options& options, int /*max_threads*/) {
  const auto a = area(options);
  return a ? Result<size_t>(a.value().bytes) : Result<size_t>(a.status());
}

}  // namespace holdfast::quadra
