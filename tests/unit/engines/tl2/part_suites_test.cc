// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/tl2/tl2.h"
#include "tests/unit/engines/parts/isolation/stm/stm_engine_suite.h"

namespace holdfast::stm_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(Tl2, StmEngine, Tl2<SimMachine>);

}  // namespace holdfast::stm_suite
