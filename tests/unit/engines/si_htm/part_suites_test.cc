// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/si_htm/si_htm.h"
#include "tests/unit/engines/parts/frame/pht_engine_suite.h"
#include "tests/unit/engines/parts/isolation/htm/htm_engine_suite.h"

namespace holdfast::htm_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(SiHtm, HtmEngine, SiHtm<SimMachine>);

}  // namespace holdfast::htm_suite

namespace holdfast::pht_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(SiHtm, PhtEngine, SiHtm<SimMachine>);

}  // namespace holdfast::pht_suite
