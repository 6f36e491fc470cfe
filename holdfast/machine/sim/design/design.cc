// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/design/design.h"

#include <algorithm>

namespace holdfast {

Time HardwareDesign::abort(const DesignTransaction& tx, Time now) {
  Time done = now;
  context().for_each_before(tx, [&](DesignLine at, const std::byte* before) {
    done = std::max(done, context().rewrite(tx.core, at.line, before, now));
  });
  return done;
}

void HardwareDesign::power_failure(SurvivingState& surviving) const {
  if (!context().caches_survive()) {
    return;
  }
  context().for_each_cached([&](const CachedLine& cached) {
    if (cached.dirty) {
      const std::byte* bytes = context().newest(cached.at.line);
      surviving.lines.push_back({cached.at.offset, {bytes, bytes + context().line_bytes()}});
    }
  });
}

}  // namespace holdfast
