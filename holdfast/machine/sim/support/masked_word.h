// SPDX-License-Identifier: Apache-2.0
//
// sim/support/: small data structures of the simulated machine. This header: words with byte masks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "holdfast/base/bytes.h"
#include "holdfast/machine/machine.h"

namespace holdfast::sim {

static_assert(std::endian::native == std::endian::little, "byte masks assume little-endian words");

inline constexpr size_t kWordBytes = 8;

/// Some bytes of one aligned 8-byte word. The simulated machine uses this unit for all accesses, so
/// that accesses which overlap in part need no special case.
struct MaskedWord {
  uintptr_t address = 0;  ///< a multiple of 8
  uint64_t value = 0;     ///< each byte at its place in the word; zero outside the mask
  uint64_t mask = 0;      ///< 0xff for each byte that belongs to the access

  /// `below` with the bytes of this access replaced.
  uint64_t over(uint64_t below) const { return (below & ~mask) | value; }
};

/// The mask of `size` bytes from byte `offset` on.
inline uint64_t byte_mask(size_t offset, size_t size) {
  const uint64_t ones = size >= kWordBytes ? ~uint64_t{0} : (uint64_t{1} << (8 * size)) - 1;
  return ones << (8 * offset);
}

inline uint64_t read_word(uintptr_t address) {
  uint64_t value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
  return value;
}

/// Stores the bytes to memory. A whole word is not read first: the page may be mapped from a file,
/// and a read would load the file's page and its neighbours, though the program only writes there.
inline void write_word(const MaskedWord& word) {
  const bool whole = word.mask == ~uint64_t{0};
  const uint64_t value = whole ? word.value : word.over(read_word(word.address));
  std::memcpy(reinterpret_cast<void*>(word.address), &value, sizeof(value));
}

template <Word T>
uint64_t to_bits(const T& value) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes_at(&value), kBytesOf<T>);
  return bits;
}

template <Word T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(bytes_at(&value), &bits, kBytesOf<T>);
  return value;
}

/// Calls f(address, size) for each piece of [address, address + size) that lies in one word.
template <class F>
void for_each_piece(uintptr_t address, size_t size, F&& f) {
  while (size > 0) {
    const size_t piece = std::min(size, kWordBytes - address % kWordBytes);
    f(address, piece);
    address += piece;
    size -= piece;
  }
}

}  // namespace holdfast::sim
