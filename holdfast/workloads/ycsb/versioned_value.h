// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "holdfast/base/random.h"

namespace holdfast {

/// The words of a value of `ycsb`, as many as a parameter says. The first word is the version. The
/// others follow from the key, the version and their place, so a reader notices a torn value.
class VersionedValue {
 public:
  VersionedValue(uint64_t key, uint64_t version) : version_(version), rest_(mix64(key ^ version)) {}

  /// Stores the value to these fields. Inside update().
  template <class Field>
  void store(Field* at, uint64_t words) const {
    at[0] = version_;
    for (uint64_t i = 1; i < words; ++i) {
      at[i] = rest_ + i;
    }
  }
  /// Loads all words of a key's value. Returns its version, or nothing if it is torn.
  template <class Field>
  static std::optional<uint64_t> version_at(const Field* at, uint64_t words, uint64_t key) {
    const uint64_t version = at[0];
    const VersionedValue value(key, version);
    uint64_t wrong = 0;
    for (uint64_t i = 1; i < words; ++i) {
      wrong |= at[i].load() ^ (value.rest_ + i);
    }
    return wrong == 0 ? std::optional<uint64_t>(version) : std::nullopt;
  }

 private:
  uint64_t version_;
  uint64_t rest_;
};

}  // namespace holdfast
