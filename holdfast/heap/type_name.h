// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/base/random.h"
#include "holdfast/base/type_text.h"

namespace holdfast {

/// What a root records about its type. Types should carry `static constexpr const char* kTypeName`
/// and `static constexpr uint32_t kTypeVersion`; without a name the compiler's is used, which names
/// the engine too, so that such a heap cannot be converted to another engine.
template <class T>
std::string type_name() {
  std::string name(TypeSpelling<T>::kValue);
  constexpr size_t kLongest = 47;
  if (name.size() > kLongest) {  // keep the start for people and a hash for certainty
    uint64_t hash = 0;
    for (const char c : name) {
      hash = mix64(hash ^ static_cast<unsigned char>(c));
    }
    name = name.substr(0, kLongest - 17) + "#" + std::to_string(hash).substr(0, 16);
  }
  return name;
}

template <class T>
constexpr uint32_t type_version() {
  if constexpr (requires { T::kTypeVersion; }) {
    return T::kTypeVersion;
  } else {
    return 1;
  }
}

}  // namespace holdfast
