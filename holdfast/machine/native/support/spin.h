// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <time.h>

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

/// How a thread waits when it has spun for a while. Both ways let the awaited thread run where
/// there are more threads than processors. Beside a busy process a yield gives away a whole time
/// slice, some milliseconds, and a sleep does not. A sleep takes longer than a yield where the
/// awaited thread is quick.
enum class LongWait : bool { yield, sleep };

/// Waits in a loop: spins in the first calls, then yields the processor, or sleeps, in every call.
class Backoff {
 public:
  explicit Backoff(LongWait long_wait = LongWait::yield) : long_wait_(long_wait) {}

  /// Returns true if this call yielded or slept; the caller then has time for slow checks.
  bool wait() {
    if (spins_ < kSpins) {
      ++spins_;
      pause();
      return false;
    }
    if (long_wait_ == LongWait::sleep) {
      const timespec time{.tv_sec = 0, .tv_nsec = kSleepNs};
      nanosleep(&time, nullptr);
    } else {
      sched_yield();
    }
    return true;
  }

 private:
  // A pause takes 40 to 140 cycles on current x86 processors. All of them take a few microseconds,
  // about as long as a yield to another thread and back.
  static constexpr int kSpins = 64;
  // The system adds its slack of timers, usually 50 us. Sleeps of 1 and 50 us made no difference.
  static constexpr long kSleepNs = 20'000;
  const LongWait long_wait_;
  int spins_ = 0;
};

}  // namespace holdfast::native
