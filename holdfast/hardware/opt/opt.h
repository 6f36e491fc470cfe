// SPDX-License-Identifier: Apache-2.0
//
// OPT: no durability and no cost, for comparison (Hercules 5). The program runs as on a machine
// without a design, with the same instructions (tx_start, tx_commit) as for the other designs.
// After a power failure the medium holds the lines that the caches had written back by chance.
#pragma once

#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo opt_info();

/// The design "opt": no hook does anything.
class OptDesign final : public HardwareDesign {
 public:
  Time recover(DesignRecovery& recovery, Time now) override;
};

}  // namespace holdfast
