// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/nv_htm/nv_htm.h"
#include "tests/unit/engines/parts/durability/linked/linked_recovery_suite.h"
#include "tests/unit/engines/parts/durability/replay/replay_alone_suite.h"
#include "tests/unit/engines/parts/frame/pht_engine_suite.h"
#include "tests/unit/engines/parts/isolation/htm/htm_engine_suite.h"

namespace holdfast::htm_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(NvHtm, HtmEngine, NvHtm<SimMachine>);
INSTANTIATE_TYPED_TEST_SUITE_P(NvHtm, HtmLogged, NvHtm<SimMachine>);

}  // namespace holdfast::htm_suite

namespace holdfast::pht_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(NvHtm, PhtEngine, NvHtm<SimMachine>);

}  // namespace holdfast::pht_suite

namespace holdfast::linked_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(NvHtm, PhtRecovery, NvHtm<SimMachine>);

}  // namespace holdfast::linked_suite

namespace holdfast::replay_test {

INSTANTIATE_TYPED_TEST_SUITE_P(NvHtm, ReplayAlone, NvHtm<SimMachine>);

}  // namespace holdfast::replay_test
