// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/parts/basics/word_place.h"

namespace holdfast {

/// A record of Trinity and Quadra on the medium: the value of one word of the heap, its former
/// value, and the transaction that stored it. It lies within one line, and stores to one line
/// persist in program order.
struct RecordWords {
  uint64_t main;    ///< the word's value
  uint64_t back;    ///< the value before the transaction `number`
  uint64_t number;  ///< of the transaction that stored main; 0: none ever
  uint64_t place;   ///< the word's place in the heap, and a tag

  static constexpr size_t kBytes = 32;

  static constexpr uint64_t place_of(uint64_t offset, uint64_t tag) {
    return WordPlace::of(offset, tag);
  }
  uint64_t offset() const { return WordPlace::offset(place); }
  uint64_t tag() const { return WordPlace::tag(place); }
};
static_assert(sizeof(RecordWords) == RecordWords::kBytes);

}  // namespace holdfast
