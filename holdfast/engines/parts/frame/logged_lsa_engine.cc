// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/durability/stamped/stamped_logs_area.h"
#include "holdfast/engines/parts/isolation/stm/lsa_options.h"

namespace holdfast {

Result<size_t> logged_lsa_area_bytes(const Options& options, int max_threads) {
  const auto lsa = LsaOptions::parse(options);
  const auto logs = StampedLogOptions::parse(options);
  if (!lsa || !logs) {
    return lsa ? logs.status() : lsa.status();
  }
  return StampedLogsArea(logs.value(), max_threads).bytes;
}

}  // namespace holdfast
