// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace holdfast {

/// Which entry of an ownership table watches over a byte of the heap. Neighbouring stripes have
/// neighbouring entries, so that a scan of data scans the table; where the table ends it begins
/// again, shifted each time, so that data at regular distances does not share entries.
class Stripes {
 public:
  static constexpr int kStripeBits = 5;  ///< 32 bytes, as in TinySTM

  explicit Stripes(int bits) : bits_(bits), mask_((uint64_t{1} << bits) - 1) {}

  size_t count() const { return mask_ + 1; }

  /// `offset` in the heap's data.
  size_t of(uint64_t offset) const {
    const uint64_t stripe = offset >> kStripeBits;
    return static_cast<size_t>((stripe + (stripe >> bits_) * kShift) & mask_);
  }

 private:
  static constexpr uint64_t kShift = 0x9e3779b1;  // odd: laps differ; 2^32 over the golden ratio
  int bits_;
  uint64_t mask_;
};

/// A table of n T in the machine's volatile shared memory, T being what zero bytes make it. Unlike
/// make_array() this touches nothing: of a large table a small heap uses little.
template <class T, class M>
T* make_zeroed_table(M& machine, size_t n) {
  static_assert(std::is_trivially_destructible_v<T>);
  return static_cast<T*>(machine.allocate(n * sizeof(T), alignof(T)));
}

}  // namespace holdfast
