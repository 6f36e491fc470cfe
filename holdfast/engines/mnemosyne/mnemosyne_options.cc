// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/mnemosyne/mnemosyne_options.h"

namespace holdfast {

Result<MnemosyneOptions> MnemosyneOptions::parse(const Options& options) {
  const auto logs = StampedLogOptions::parse(options);
  const auto tornbit = option_number(options, "tornbit", 0, 0, 1);
  if (!logs || !tornbit) {
    return logs ? tornbit.status() : logs.status();
  }
  MnemosyneOptions parsed;
  parsed.log_bytes = logs.value().log_bytes;
  parsed.tornbit = tornbit.value() == 1;
  return parsed;
}

Result<size_t> mnemosyne_area_bytes(const Options& options, int max_threads) {
  const auto parsed = MnemosyneOptions::parse(options);
  const auto lsa = LsaOptions::parse(options);
  if (!parsed || !lsa) {
    return parsed ? lsa.status() : parsed.status();
  }
  return parsed.value().area(max_threads).bytes;
}

}  // namespace holdfast
