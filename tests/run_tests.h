// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstdio>

#include "holdfast/base/sanitizers.h"

#if HOLDFAST_THREAD_SANITIZER
// Some tests kill a forked child, which opens a database and so starts threads. The parent has
// closed its own by then. A child whose threads still run ends at once, not a second later.
extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0:atexit_sleep_ms=0";
}
#endif

namespace holdfast {

/// For main(). RUN_ALL_TESTS(), but a filter that selects no test is a failure. ctest runs every
/// test with its name as the filter. A name with a '-' would exclude tests instead, and pass
/// without having run.
inline int run_tests() {
#ifdef __GLIBC__
  // Images and simulated caches are large and live for a moment. From pages that the process keeps
  // they take half the time that fresh ones do.
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
  const int result = RUN_ALL_TESTS();
  if (!testing::GTEST_FLAG(list_tests) &&
      testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::fprintf(stderr, "no test matches --gtest_filter=%s\n",
                 testing::GTEST_FLAG(filter).c_str());
    return 1;
  }
  return result;
}

}  // namespace holdfast
