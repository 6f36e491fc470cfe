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
    if constexpr (sizeof(K) <= sizeof(uint64_t) && (std::integral<K> || std::is_enum_v<K>)) {
      return mix64(widened(key));
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

 private:
  /// Platforms disagree whether char and wchar_t have a sign. Here they have one, as on x86.
  template <class N>
  static uint64_t widened(N n) {
    if constexpr (std::is_enum_v<N>) {
      return widened(static_cast<std::underlying_type_t<N>>(n));
    } else if constexpr (std::same_as<N, char>) {
      return static_cast<uint64_t>(static_cast<signed char>(n));
    } else if constexpr (std::same_as<N, wchar_t>) {
      return static_cast<uint64_t>(static_cast<int32_t>(n));
    } else {
      return static_cast<uint64_t>(n);
    }
  }
};

}  // namespace holdfast
