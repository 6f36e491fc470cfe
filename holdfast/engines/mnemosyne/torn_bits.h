// SPDX-License-Identifier: Apache-2.0
//
// Mnemosyne's torn bits (ASPLOS 2011, section 4.4): every word of a log gives its highest bit away,
// to tell whether it was written in this lap around the log or in the one before. So each word says
// for itself whether it is there, and nothing needs to be durable before anything else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::torn_bits {

inline constexpr size_t kPayload = 63;
inline constexpr uint64_t kTorn = uint64_t{1} << kPayload;

/// Words of log for n words.
constexpr size_t taken(size_t n) {
  return (64 * n + kPayload - 1) / kPayload;
}

/// The first of `taken(n)` words of log, or any other, without its torn bit.
constexpr uint64_t packed(const uint64_t* words, size_t n, size_t i) {
  const size_t bit = kPayload * i;
  const size_t at = bit / 64;
  const size_t shift = bit % 64;
  const uint64_t low = at < n ? words[at] >> shift : 0;
  // The shift is at least 1 where bits of the next word are missing: 63 fit into a whole one.
  const uint64_t high = shift > 1 && at + 1 < n ? words[at + 1] << (64 - shift) : 0;
  return (low | high) & ~kTorn;
}

/// Word i of those that `log` was packed from. Looks at taken(i + 1) words at most.
constexpr uint64_t unpacked(const uint64_t* log, size_t i) {
  const size_t bit = 64 * i;
  const size_t at = bit / kPayload;
  const size_t shift = bit % kPayload;
  return (log[at] & ~kTorn) >> shift | log[at + 1] << (kPayload - shift);
}

}  // namespace holdfast::torn_bits
