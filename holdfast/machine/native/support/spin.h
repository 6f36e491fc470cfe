// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace holdfast::native {

/// A hint to the processor that this is a spinning loop.
inline void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#elif defined(__powerpc64__)
  asm volatile("or 27,27,27" ::: "memory");  // yields to the core's other threads
#endif
}

/// Waits in a loop: spins in the first calls, then yields the processor in every call. Yielding
/// lets the awaited thread run where there are more threads than processors.
class Backoff {
 public:
  /// Returns true if this call yielded; the caller then has time for slow checks.
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
  // A pause takes 40 to 140 cycles on current x86 processors. All of them take a few microseconds,
  // about as long as a yield to another thread and back.
  static constexpr int kSpins = 64;
  int spins_ = 0;
};

}  // namespace holdfast::native
