// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "holdfast/base/random.h"
#include "holdfast/base/type_text.h"

namespace holdfast {

/// The hash of a durable map's key. It is the same in every run and on every platform, because the
/// heap stores the entry's place. All 64 bits are well mixed. For other keys, pass a functor of
/// your own to the map.
template <class K>
struct KeyHash {
  static constexpr const char* kTypeName = TypeText<"holdfast::KeyHash", K>::kValue;
  static_assert(std::has_unique_object_representations_v<K>,
                "a key with padding or floating point needs a hash of its own");

  uint64_t operator()(const K& key) const {
    if constexpr (std::integral<K> || std::is_enum_v<K>) {
      return mix64(static_cast<uint64_t>(key));
    } else {
      uint64_t hash = sizeof(K);
      const auto* bytes = reinterpret_cast<const unsigned char*>(&key);
      for (size_t i = 0; i < sizeof(K); i += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, bytes + i, sizeof(K) - i < sizeof word ? sizeof(K) - i : sizeof word);
        hash = mix64(hash ^ word);
      }
      return hash;
    }
  }
};

}  // namespace holdfast
