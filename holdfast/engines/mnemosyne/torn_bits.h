// SPDX-License-Identifier: Apache-2.0
//
// Mnemosyne's torn bits (ASPLOS 2011, section 4.4). The highest bit of every word in a log tells
// whether the word was written in this lap around the log or in the one before. So the words of a
// log need no order among each other: each shows by itself whether it was written.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::torn_bits {

inline constexpr size_t kPayload = 63;
inline constexpr uint64_t kTorn = uint64_t{1} << kPayload;

/// Words of log that n words take.
constexpr size_t taken(size_t n) {
  return (64 * n + kPayload - 1) / kPayload;
}

/// Word i of the at most `taken(n)` words of log, without its torn bit.
constexpr uint64_t packed(const uint64_t* words, size_t n, size_t i) {
  const size_t bit = kPayload * i;
  const size_t at = bit / 64;
  const size_t shift = bit % 64;
  const uint64_t low = at < n ? words[at] >> shift : 0;
  // The shift is at least 1 where bits of the next word are needed: 63 fit into a whole word.
  const uint64_t high = shift > 1 && at + 1 < n ? words[at + 1] << (64 - shift) : 0;
  return (low | high) & ~kTorn;
}

/// Word i of the words that were packed into `log`. Loads at most taken(i + 1) words.
constexpr uint64_t unpacked(const uint64_t* log, size_t i) {
  const size_t bit = 64 * i;
  const size_t at = bit / kPayload;
  const size_t shift = bit % kPayload;
  return (log[at] & ~kTorn) >> shift | log[at + 1] << (kPayload - shift);
}

}  // namespace holdfast::torn_bits
