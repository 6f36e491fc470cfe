// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/undo/undo.h"
#include "tests/unit/engines/undo/undo_engine_suite.h"

namespace holdfast::undo_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(Undo, UndoEngines, OneHeap<Undo<SimMachine>>);

}  // namespace holdfast::undo_suite
