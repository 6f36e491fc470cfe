// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/support/ticks.h"

#include <cmath>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace holdfast::native {
namespace {

bool counter_is_invariant() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool rdtscp = __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (d & (1u << 27)) != 0;
  const bool invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
  return rdtscp && invariant;
#elif defined(__powerpc64__)
  return true;
#else
  return false;
#endif
}

}  // namespace

Ticks::Ticks() : counter_(counter_is_invariant()), start_ticks_(now()), start_ns_(monotonic_ns()) {}

double Ticks::ns_per_tick() const {
  if (!counter_) {
    return 1.0;
  }
  // The two clocks are read some 50 ns apart. Over this interval that is an error of 25 parts per
  // million.
  constexpr uint64_t kShortest = 2'000'000;
  uint64_t ns = monotonic_ns();
  while (ns - start_ns_ < kShortest) {
    ns = monotonic_ns();
  }
  return static_cast<double>(ns - start_ns_) / static_cast<double>(now() - start_ticks_);
}

uint64_t Ticks::from_ns(uint64_t ns) const {
  return ns == 0 ? 0 : static_cast<uint64_t>(std::llround(static_cast<double>(ns) / ns_per_tick()));
}

void Ticks::spin(uint64_t ticks) const {
  const uint64_t start = now();
  while (now() - start < ticks) {
  }
}

}  // namespace holdfast::native
