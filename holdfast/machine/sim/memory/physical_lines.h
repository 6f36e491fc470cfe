// SPDX-License-Identifier: Apache-2.0
//
// The numbers of lines for the controller's banks and queues. Different memories have different
// numbers, far from each other. So no write merges with one of another memory. Powers of two leave
// a line's bank as it is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::sim {

/// The first line of a design's own region, and of its volatile memory where the machine has one
/// memory for both. Smaller numbers are lines of the program's medium, or of the arena.
inline constexpr uint64_t kOwnLines = uint64_t{1} << 40;
inline constexpr uint64_t kOwnDramLines = 2 * kOwnLines;
/// The first volatile line of the arena, where the machine has one memory for both.
inline constexpr uint64_t kVolatileLines = 3 * kOwnLines;

constexpr uint64_t own_line(uint64_t offset, size_t line_bytes) {
  return kOwnLines + offset / line_bytes;
}

}  // namespace holdfast::sim
