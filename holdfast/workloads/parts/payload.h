// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/base/random.h"

namespace holdfast {

/// The words that belong to a key, as many as a parameter says. Word i is mix64(key) + i. So each
/// word tells its key and its place, and a check notices a payload whose words come from two keys.
class Payload {
 public:
  Payload(uint64_t key, uint64_t words) : first_(mix64(key)), words_(words) {}

  uint64_t word(uint64_t i) const { return first_ + i; }

  /// Stores the payload to these fields. Inside update().
  template <class Field>
  void store(Field* at) const {
    for (uint64_t i = 0; i < words_; ++i) {
      at[i] = word(i);
    }
  }
  /// Whether these fields hold the payload.
  template <class Field>
  bool stored(const Field* at) const {
    for (uint64_t i = 0; i < words_; ++i) {
      if (const uint64_t found = at[i]; found != word(i)) {
        return false;
      }
    }
    return true;
  }

 private:
  uint64_t first_;
  uint64_t words_;
};

}  // namespace holdfast
