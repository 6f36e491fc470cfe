// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/spht/spht.h"
#include "tests/unit/engines/parts/durability/linked/linked_recovery_suite.h"
#include "tests/unit/engines/parts/durability/replay/replay_alone_suite.h"
#include "tests/unit/engines/parts/frame/pht_engine_suite.h"
#include "tests/unit/engines/parts/isolation/htm/htm_engine_suite.h"

namespace holdfast::htm_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(Spht, HtmEngine, Spht<SimMachine>);
INSTANTIATE_TYPED_TEST_SUITE_P(Spht, HtmLogged, Spht<SimMachine>);

}  // namespace holdfast::htm_suite

namespace holdfast::pht_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(Spht, PhtEngine, Spht<SimMachine>);

}  // namespace holdfast::pht_suite

namespace holdfast::linked_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(Spht, PhtRecovery, Spht<SimMachine>);
INSTANTIATE_TYPED_TEST_SUITE_P(Spht, PhtMarker, Spht<SimMachine>);

}  // namespace holdfast::linked_suite

namespace holdfast::replay_test {

INSTANTIATE_TYPED_TEST_SUITE_P(Spht, ReplayAlone, Spht<SimMachine>);

}  // namespace holdfast::replay_test
