// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace holdfast {

/// Maps a byte of the heap to its entry in an ownership table. Neighbouring stripes have
/// neighbouring entries, so that a scan of the data scans the table. At the table's end the mapping
/// wraps around, shifted in each lap, so that data at regular distances does not share entries.
class Stripes {
 public:
  static constexpr int kStripeBits = 5;  ///< 32 bytes, as in TinySTM

  explicit Stripes(int bits) : bits_(bits), mask_((uint64_t{1} << bits) - 1) {}

  size_t count() const { return mask_ + 1; }

  /// Entry of the stripe that holds the byte at `offset` of the heap's data.
  size_t of(uint64_t offset) const {
    const uint64_t stripe = offset >> kStripeBits;
    return static_cast<size_t>((stripe + (stripe >> bits_) * kShift) & mask_);
  }

 private:
  // Odd, so that laps differ: 2^32 divided by the golden ratio.
  static constexpr uint64_t kShift = 0x9e3779b1;
  int bits_;
  uint64_t mask_;
};

/// A table of n objects T in the machine's volatile shared memory. Zero bytes must be a valid T.
/// Unlike make_array() this touches no page, so a small heap uses little of a large table.
template <class T, class M>
T* make_zeroed_table(M& machine, size_t n) {
  static_assert(std::is_trivially_destructible_v<T>);
  return static_cast<T*>(machine.allocate(n * sizeof(T), alignof(T)));
}

}  // namespace holdfast
