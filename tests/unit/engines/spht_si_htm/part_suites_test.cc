// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/spht_si_htm/spht_si_htm.h"
#include "tests/unit/engines/parts/durability/linked/linked_recovery_suite.h"
#include "tests/unit/engines/parts/frame/pht_engine_suite.h"
#include "tests/unit/engines/parts/isolation/htm/htm_engine_suite.h"

namespace holdfast::htm_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(SphtSiHtm, HtmEngine, SphtSiHtm<SimMachine>);
INSTANTIATE_TYPED_TEST_SUITE_P(SphtSiHtm, HtmLogged, SphtSiHtm<SimMachine>);

}  // namespace holdfast::htm_suite

namespace holdfast::pht_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(SphtSiHtm, PhtEngine, SphtSiHtm<SimMachine>);

}  // namespace holdfast::pht_suite

namespace holdfast::linked_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(SphtSiHtm, PhtRecovery, SphtSiHtm<SimMachine>);
INSTANTIATE_TYPED_TEST_SUITE_P(SphtSiHtm, PhtMarker, SphtSiHtm<SimMachine>);

}  // namespace holdfast::linked_suite
