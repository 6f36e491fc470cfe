// SPDX-License-Identifier: Apache-2.0
#include "tests/run_tests.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return holdfast::run_tests();
}
