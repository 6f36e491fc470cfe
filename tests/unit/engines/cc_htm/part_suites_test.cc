// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of engines of its kind?
#include "holdfast/engines/cc_htm/cc_htm.h"
#include "tests/unit/engines/parts/isolation/htm/htm_engine_suite.h"
#include "tests/unit/engines/parts/isolation/stm/stm_recovery_suite.h"

namespace holdfast::htm_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(CcHtm, HtmEngine, CcHtm<SimMachine>);
INSTANTIATE_TYPED_TEST_SUITE_P(CcHtm, HtmLogged, CcHtm<SimMachine>);

}  // namespace holdfast::htm_suite

namespace holdfast::history_test {

INSTANTIATE_TYPED_TEST_SUITE_P(CcHtm, StmRecovery, CcHtm<SimMachine>);

}  // namespace holdfast::history_test
