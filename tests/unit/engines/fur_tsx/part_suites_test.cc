// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/fur_tsx/fur_tsx.h"
#include "tests/unit/engines/parts/durability/linked/linked_recovery_suite.h"
#include "tests/unit/engines/parts/durability/replay/replay_alone_suite.h"
#include "tests/unit/engines/parts/frame/pht_engine_suite.h"
#include "tests/unit/engines/parts/isolation/htm/htm_engine_suite.h"

namespace holdfast::htm_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(FurTsx, HtmEngine, FurTsx<SimMachine>);
INSTANTIATE_TYPED_TEST_SUITE_P(FurTsx, HtmLogged, FurTsx<SimMachine>);

}  // namespace holdfast::htm_suite

namespace holdfast::pht_suite {

template <>
inline constexpr bool kReadsOutside<FurTsx<SimMachine>> = true;

INSTANTIATE_TYPED_TEST_SUITE_P(FurTsx, PhtEngine, FurTsx<SimMachine>);

}  // namespace holdfast::pht_suite

namespace holdfast::linked_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(FurTsx, PhtRecovery, FurTsx<SimMachine>);

}  // namespace holdfast::linked_suite

namespace holdfast::replay_test {

INSTANTIATE_TYPED_TEST_SUITE_P(FurTsx, ReplayAlone, FurTsx<SimMachine>);

}  // namespace holdfast::replay_test
