// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace holdfast::native {

/// The machine's clock. It is the time-stamp counter if that runs at a constant rate and in step on
/// all processors: on x86 if CPUID says so, on POWER (the time base) always. Otherwise it is
/// CLOCK_MONOTONIC, in nanoseconds. Thread safe.
class Ticks {
 public:
  Ticks();

  /// Reads the clock in program order: after all earlier operations, before any later one.
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

  /// Measured between construction and this call. Spins until two milliseconds have passed since
  /// construction.
  double ns_per_tick() const;
  uint64_t from_ns(uint64_t ns) const;

  /// Spins until `ticks` have passed. It watches the clock and counts no iterations, so the
  /// emulated delay is the same whatever else the processor does.
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
