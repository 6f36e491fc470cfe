// SPDX-License-Identifier: Apache-2.0
#include "holdfast/base/sanitizers.h"
#include "tests/run_tests.h"

#if HOLDFAST_THREAD_SANITIZER
// Some tests kill a forked child, which opens a database and so starts threads. The parent has
// closed its own by then.
extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0";
}
#endif

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return holdfast::run_tests();
}
