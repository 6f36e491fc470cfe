// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/fur/fur.h"
#include "tests/unit/engines/parts/durability/replay/replay_alone_suite.h"
#include "tests/unit/engines/parts/isolation/htm/htm_engine_suite.h"

namespace holdfast::htm_suite {

using FurEngines = testing::Types<FurOpa<SimMachine>, FurSi<SimMachine>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Fur, HtmEngine, FurEngines);
INSTANTIATE_TYPED_TEST_SUITE_P(Fur, HtmLogged, FurEngines);

}  // namespace holdfast::htm_suite

namespace holdfast::replay_test {

using FurEngines = testing::Types<FurOpa<SimMachine>, FurSi<SimMachine>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Fur, ReplayAlone, FurEngines);

}  // namespace holdfast::replay_test
