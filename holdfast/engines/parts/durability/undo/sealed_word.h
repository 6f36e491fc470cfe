// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/base/random.h"

namespace holdfast {

/// A value and 16 bits of its checksum in one word, so that a single store changes both.
struct SealedWord {
  static constexpr int kValueBits = 48;
  static constexpr uint64_t kValueMask = (uint64_t{1} << kValueBits) - 1;

  /// `value` has at most kValueBits bits.
  static uint64_t of(uint64_t value) { return value | (mix64(value) & ~kValueMask); }
  static uint64_t value(uint64_t word) { return word & kValueMask; }
  /// False for damaged words, with a probability of 1 - 2^-16.
  static bool is_whole(uint64_t word) { return word == of(value(word)); }
};

}  // namespace holdfast
