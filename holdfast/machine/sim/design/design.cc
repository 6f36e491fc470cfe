// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/design/design.h"

namespace holdfast {

const char* to_string(Cause cause) {
  static constexpr const char* kNames[kCauses] = {
      "write_back", "data", "log", "table", "journal", "migration", "consolidation", "recovery"};
  return kNames[static_cast<size_t>(cause)];
}

const char* to_string(ReadCause cause) {
  static constexpr const char* kNames[kReadCauses] = {
      "miss", "data", "log", "table", "migration", "consolidation", "recovery"};
  return kNames[static_cast<size_t>(cause)];
}

void HardwareDesign::power_failure(PowerFailure& power) const {
  power.for_each_cached([&](const CachedLine& cached, const std::byte* bytes) {
    if (cached.dirty) {
      power.write(cached.line.at, {bytes, power.line_bytes()});
    }
  });
}

}  // namespace holdfast
