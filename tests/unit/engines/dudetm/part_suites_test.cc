// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/dudetm/dudetm.h"
#include "tests/unit/engines/parts/durability/stamped/stamped_logs_suite.h"
#include "tests/unit/engines/parts/isolation/stm/stm_engine_suite.h"
#include "tests/unit/engines/parts/isolation/stm/stm_recovery_suite.h"

namespace holdfast::stm_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(Dudetm, StmEngine, DudeTm<SimMachine>);

}  // namespace holdfast::stm_suite

namespace holdfast::history_test {

INSTANTIATE_TYPED_TEST_SUITE_P(Dudetm, StmRecovery, DudeTm<SimMachine>);
INSTANTIATE_TYPED_TEST_SUITE_P(Dudetm, StampedLogsSuite, DudeTm<SimMachine>);

}  // namespace holdfast::history_test
