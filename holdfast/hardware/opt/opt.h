// SPDX-License-Identifier: Apache-2.0
//
// OPT: no durability at all, and no cost. The program runs as on a machine without a design, with
// the same instructions (tx_start, tx_commit), so that the other designs can be compared with it
// (Hercules 5). What is on the medium after a power failure is whatever the caches had written
// back by then.
#pragma once

#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo opt_info();

class OptDesign final : public HardwareDesign {
 public:
  DesignRecovery recover(std::span<const std::byte> state, RecoveryMedium& medium) const override;
};

}  // namespace holdfast
