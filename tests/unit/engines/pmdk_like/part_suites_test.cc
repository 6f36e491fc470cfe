// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/pmdk_like/pmdk_like.h"
#include "tests/unit/engines/undo/undo_engine_suite.h"

namespace holdfast::undo_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(PmdkLike, UndoEngines, OneHeap<PmdkLike<SimMachine>>);

}  // namespace holdfast::undo_suite
