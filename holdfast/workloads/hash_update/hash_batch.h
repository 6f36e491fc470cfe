// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/base/random.h"

namespace holdfast {

/// One transaction of `hash-update`: a random number, the number of accesses, and how many of them
/// read. A stored value holds all three and the place of the access in its transaction. So each
/// stored value tells the complete write set of the transaction that stored it.
///
///   value   bit 63: 1 (an element that nothing has stored to is 0); bits 18 to 62: the random
///           number; 12 to 17: accesses; 6 to 11: reads; 0 to 5: the access
class HashBatch {
 public:
  static constexpr uint64_t kMostAccesses = 63;

  HashBatch(uint64_t number, uint64_t accesses, uint64_t reads)
      : word_(kStored | number << 18 | accesses << 12 | reads << 6) {}

  /// The transaction that has stored this value.
  static HashBatch of(uint64_t value) { return HashBatch(value & ~kAccess); }
  /// The access that has stored this value.
  static uint64_t access_of(uint64_t value) { return value & kAccess; }

  uint64_t accesses() const { return word_ >> 12 & kAccess; }
  uint64_t reads() const { return word_ >> 6 & kAccess; }
  /// Whether access k reads. Reads are spread evenly.
  bool is_read(uint64_t k) const {
    return (k + 1) * reads() / accesses() > k * reads() / accesses();
  }
  uint64_t value(uint64_t k) const { return word_ | k; }
  /// The element of access k: the hash of its value.
  uint64_t element(uint64_t k, uint64_t entries) const { return mix64(value(k)) % entries; }

  /// Whether the batch has stored this value to this element.
  static bool stores(uint64_t value, uint64_t element, uint64_t entries) {
    const HashBatch batch = of(value);
    const uint64_t k = access_of(value);
    return (value & kStored) != 0 && k < batch.accesses() && !batch.is_read(k) &&
           batch.element(k, entries) == element;
  }

  friend bool operator==(const HashBatch&, const HashBatch&) = default;

 private:
  static constexpr uint64_t kStored = uint64_t{1} << 63;
  static constexpr uint64_t kAccess = kMostAccesses;

  explicit HashBatch(uint64_t word) : word_(word) {}

  uint64_t word_;
};

}  // namespace holdfast
