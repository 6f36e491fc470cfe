// SPDX-License-Identifier: Apache-2.0
//
// The name and version of a root's type.
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/base/random.h"
#include "holdfast/base/type_text.h"

namespace holdfast {

/// Returns the name that a root records for type T. A type should have members `static constexpr
/// const char* kTypeName` and `static constexpr uint32_t kTypeVersion`. Without kTypeName the
/// compiler's name is used. It includes the engine, so such a heap cannot be converted to another
/// engine.
template <class T>
std::string type_name() {
  std::string name(TypeSpelling<T>::kValue);
  constexpr size_t kLongest = 47;
  if (name.size() > kLongest) {  // keeps the beginning for readers; the hash makes it unique
    uint64_t hash = 0;
    for (const char c : name) {
      hash = mix64(hash ^ static_cast<unsigned char>(c));
    }
    name = name.substr(0, kLongest - 17) + "#" + std::to_string(hash).substr(0, 16);
  }
  return name;
}

/// Returns T::kTypeVersion, or 1 if T has none.
template <class T>
constexpr uint32_t type_version() {
  if constexpr (requires { T::kTypeVersion; }) {
    return T::kTypeVersion;
  } else {
    return 1;
  }
}

}  // namespace holdfast
