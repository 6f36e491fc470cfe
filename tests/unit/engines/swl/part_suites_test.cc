// SPDX-License-Identifier: Apache-2.0
// Do the engines pass the suites of the parts that they are built from?
#include "holdfast/engines/swl/swl.h"
#include "tests/unit/engines/undo/undo_engine_suite.h"

namespace holdfast::undo_suite {

using SwlEngines = testing::Types<OneHeap<SwlFlush<SimMachine>>, OneHeap<SwlEadr<SimMachine>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Swl, UndoEngines, SwlEngines);

}  // namespace holdfast::undo_suite
