// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/mnemosyne/mnemosyne.h"
#include "tests/unit/engines/parts/isolation/stm/stm_engine_suite.h"
#include "tests/unit/engines/parts/isolation/stm/stm_recovery_suite.h"

namespace holdfast::stm_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(Mnemosyne, StmEngine, Mnemosyne<SimMachine>);

}  // namespace holdfast::stm_suite

namespace holdfast::history_test {

/// The engine's other kind of log.
struct TornbitMnemosyne : Mnemosyne<SimMachine> {
  TornbitMnemosyne(SimMachine& machine, const Regions& regions, Options options, int max_threads)
      : Mnemosyne(machine, regions, (options["tornbit"] = "1", options), max_threads) {}
};

using BothLogs = testing::Types<Mnemosyne<SimMachine>, TornbitMnemosyne>;
INSTANTIATE_TYPED_TEST_SUITE_P(Mnemosyne, StmRecovery, BothLogs);

}  // namespace holdfast::history_test
