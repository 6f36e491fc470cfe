// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/fur_mv/fur_mv.h"
#include "tests/unit/engines/parts/durability/loan_suite.h"
#include "tests/unit/engines/parts/durability/replay/replay_alone_suite.h"

namespace holdfast::replay_test {

INSTANTIATE_TYPED_TEST_SUITE_P(FurMv, ReplayAlone, FurMv<SimMachine>);

}  // namespace holdfast::replay_test

namespace holdfast::loan_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(FurMv, LoanEngine, FurMv<SimMachine>);

}  // namespace holdfast::loan_suite
