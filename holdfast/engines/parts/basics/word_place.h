// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// Packs the place of a word in the heap's data and a small tag into one word, as logs store them
/// on the medium.
struct WordPlace {
  static constexpr int kBits = 41;  ///< words of a heap of 16 TiB
  static constexpr int kTagBits = 64 - kBits;

  /// `offset` is a multiple of 8. Tag bits beyond kTagBits are lost.
  static constexpr uint64_t of(uint64_t offset, uint64_t tag) {
    return offset / sizeof(uint64_t) | tag << kBits;
  }
  static constexpr uint64_t offset(uint64_t place) {
    return (place & ((uint64_t{1} << kBits) - 1)) * sizeof(uint64_t);
  }
  static constexpr uint64_t tag(uint64_t place) { return place >> kBits; }
};

}  // namespace holdfast
