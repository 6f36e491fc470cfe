// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace holdfast {

/// The least multiple of `unit` that is not below n.
constexpr uint64_t round_up(uint64_t n, uint64_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// The largest multiple of `unit` that is not above n.
constexpr uint64_t round_down(uint64_t n, uint64_t unit) {
  return n / unit * unit;
}

}  // namespace holdfast
