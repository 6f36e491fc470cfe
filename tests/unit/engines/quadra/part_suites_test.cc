// SPDX-License-Identifier: Apache-2.0
// Does the engine pass the suites of the parts that it is built from?
#include "holdfast/engines/quadra/quadra.h"
#include "tests/unit/engines/parts/durability/loan_suite.h"
#include "tests/unit/engines/parts/durability/records/record_engine_suite.h"

namespace holdfast::record_suite {

/// Header, base, and the count and the check of a record.
template <>
inline std::vector<size_t> damaged_bytes<Quadra<SimMachine>>(const Options& options) {
  const size_t record = quadra::area(options).value().record_offset;
  return {0,
          9,
          RecordArea::kBaseOffset,
          record + 24 + 5,
          record + 23,
          record + 24 + 4,
          record + 24 + 7};
}

INSTANTIATE_TYPED_TEST_SUITE_P(Quadra, RecordEngine, Quadra<SimMachine>);

}  // namespace holdfast::record_suite

namespace holdfast::loan_suite {

INSTANTIATE_TYPED_TEST_SUITE_P(Quadra, LoanEngine, Quadra<SimMachine>);

}  // namespace holdfast::loan_suite
