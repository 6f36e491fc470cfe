// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/ptl2/ptl2.h"
#include "tests/unit/engines/parts/isolation/stm/stm_engine_suite.h"
#include "tests/unit/engines/parts/isolation/stm/stm_recovery_suite.h"

namespace holdfast::stm_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(Ptl2, StmEngine, Ptl2<SimMachine>);

}  // namespace holdfast::stm_suite

namespace holdfast::history_test {

INSTANTIATE_TYPED_TEST_SUITE_P(Ptl2, StmRecovery, Ptl2<SimMachine>);

}  // namespace holdfast::history_test
