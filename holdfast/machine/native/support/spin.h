// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace holdfast::native {

inline void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#elif defined(__powerpc64__)
  asm volatile("or 27,27,27" ::: "memory");  // yield to the core's other threads
#endif
}

/// Spins for a while, then yields the processor at every call, so that with more threads than
/// processors the one that is waited for gets to run.
class Backoff {
 public:
  /// True when this call yielded: the time for slow checks.
  bool wait() {
    if (spins_ < kSpins) {
      ++spins_;
      pause();
      return false;
    }
    sched_yield();
    return true;
  }

 private:
  // A pause takes 40 to 140 cycles on current x86: a few microseconds in all, the price of one
  // yield to another thread and back.
  static constexpr int kSpins = 64;
  int spins_ = 0;
};

}  // namespace holdfast::native
