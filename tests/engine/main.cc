// SPDX-License-Identifier: Apache-2.0
#include "tests/run_tests.h"

namespace holdfast::conformance {
void register_simulated();
}  // namespace holdfast::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  holdfast::conformance::register_simulated();
  return holdfast::run_tests();
}
