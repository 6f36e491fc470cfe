// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/opt/opt.h"

namespace holdfast {

DesignInfo opt_info() {
  return {.name = "opt",
          .title = "nothing: the volatile program, for comparison",
          .source = "Hercules (ACM TECS 2023), section 5",
          .survives =
              "lines that the caches had written back by chance; on eADR, all stores: "
              "no transaction is atomic",
          .durable = false,
          .options = {},
          .make = [](const Options&) -> Result<std::unique_ptr<HardwareDesign>> {
            return std::unique_ptr<HardwareDesign>(std::make_unique<OptDesign>());
          }};
}

Time OptDesign::recover(DesignRecovery& recovery, Time now) {
  recovery.consistent = false;
  recovery.text = "opt makes nothing durable: the content of the medium is undefined";
  return now;
}

}  // namespace holdfast
