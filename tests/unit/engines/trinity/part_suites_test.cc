// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/trinity/trinity.h"
#include "tests/unit/engines/parts/durability/records/record_engine_suite.h"
#include "tests/unit/engines/parts/isolation/stm/stm_engine_suite.h"
#include "tests/unit/engines/parts/isolation/stm/stm_recovery_suite.h"

namespace holdfast::stm_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(Trinity, StmEngine, Trinity<SimMachine>);

}  // namespace holdfast::stm_suite

namespace holdfast::history_test {

INSTANTIATE_TYPED_TEST_SUITE_P(Trinity, StmRecovery, Trinity<SimMachine>);

}  // namespace holdfast::history_test

namespace holdfast::record_suite {

/// Header, base, the number of a thread, and the check of a record.
template <>
inline std::vector<size_t> damaged_bytes<Trinity<SimMachine>>(const Options& options) {
  const RecordArea area = trinity::area(options, 3).value();
  const size_t record = area.record_offset;
  return {0,
          9,
          RecordArea::kBaseOffset,
          area.mark_offset,
          record + 23,
          record + 24 + 4,
          record + 24 + 7};
}

INSTANTIATE_TYPED_TEST_SUITE_P(Trinity, RecordEngine, Trinity<SimMachine>);

}  // namespace holdfast::record_suite
