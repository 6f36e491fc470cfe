// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace holdfast::native {

/// The machine's clock: the time-stamp counter where it runs at a constant rate and in step on all
/// processors (CPUID says so; POWER's time base always does), else CLOCK_MONOTONIC in nanoseconds.
class Ticks {
 public:
  Ticks();

  /// Read in program order: after everything before is done, before anything after begins.
  uint64_t now() const {
#if defined(__x86_64__)
    if (counter_) [[likely]] {
      unsigned processor;
      const uint64_t ticks = __rdtscp(&processor);
      _mm_lfence();
      return ticks;
    }
#elif defined(__powerpc64__)
    uint64_t ticks;
    asm volatile("isync\n\tmfspr %0,268\n\tisync" : "=r"(ticks)::"memory");
    return ticks;
#endif
    return monotonic_ns();
  }

  /// Measured from construction to the first call, over at least two milliseconds.
  double ns_per_tick() const;
  uint64_t from_ns(uint64_t ns) const;

  /// Returns when `ticks` have passed. A deadline, not a count of iterations: the emulated delay is
  /// the same whatever else the processor does meanwhile.
  void spin(uint64_t ticks) const;

 private:
  static uint64_t monotonic_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
  }

  bool counter_ = false;
  uint64_t start_ticks_ = 0;
  uint64_t start_ns_ = 0;
};

}  // namespace holdfast::native
