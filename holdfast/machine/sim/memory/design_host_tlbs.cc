// SPDX-License-Identifier: Apache-2.0
//
// The part of DesignHost for TLBs.
#include <algorithm>
#include <optional>

#include "holdfast/machine/sim/memory/design_host.h"

namespace holdfast::sim {

Time DesignHost::tlb_filled(int core, uint32_t line, Time now) {
  const std::optional<DesignLine> at = on_medium(line);
  if (!at) {
    return now;
  }
  met(Hook::tlb_filled);
  return std::max(now, design_.tlb_filled({core, *at}, now));
}

void DesignHost::tlb_evicted(int core, uint32_t line, Time now) {
  if (const std::optional<DesignLine> at = on_medium(line)) {
    met(Hook::tlb_evicted);
    design_.tlb_evicted({core, *at}, now);
  }
}

}  // namespace holdfast::sim
