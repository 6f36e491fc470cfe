// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// A record of Trinity and Quadra as it stands on the medium: the value of one word of the heap,
/// the one before it, and whose doing that was. It lies within one line, and stores to one line
/// persist in program order.
struct RecordWords {
  uint64_t main;    ///< the word's value
  uint64_t back;    ///< the value before the transaction `number`
  uint64_t number;  ///< which transaction stored main; 0: none ever
  uint64_t place;   ///< which word of the heap, and a tag

  static constexpr size_t kBytes = 32;
  static constexpr int kPlaceBits = 41;  ///< words of a heap of 16 TiB

  static constexpr uint64_t place_of(uint64_t offset, uint64_t tag) {
    return offset / sizeof(uint64_t) | tag << kPlaceBits;
  }
  uint64_t offset() const { return (place & ((uint64_t{1} << kPlaceBits) - 1)) * sizeof(uint64_t); }
  uint64_t tag() const { return place >> kPlaceBits; }
};
static_assert(sizeof(RecordWords) == RecordWords::kBytes);

}  // namespace holdfast
