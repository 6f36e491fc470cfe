// SPDX-License-Identifier: Apache-2.0
// Do engines with time-stamped logs replay them alone as replay_alone.h asks, by links and by
// scans?
#include "holdfast/engines/fur_tsx/fur_tsx.h"
#include "holdfast/engines/nv_htm/nv_htm.h"
#include "holdfast/engines/spht/spht.h"
#include "tests/unit/engines/replay_alone.h"

namespace holdfast::replay_test {
namespace {

using Engines = testing::Types<Spht<SimMachine>, NvHtm<SimMachine>, FurTsx<SimMachine>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Pht, ReplayAlone, Engines);

}  // namespace
}  // namespace holdfast::replay_test
