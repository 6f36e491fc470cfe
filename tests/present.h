// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

namespace holdfast {

// Returns the value of an optional. An empty one fails the test with std::bad_optional_access.

template <class T>
T& present(std::optional<T>& o) {
  return o.has_value() ? *o : throw std::bad_optional_access();
}

template <class T>
const T& present(const std::optional<T>& o) {
  return o.has_value() ? *o : throw std::bad_optional_access();
}

template <class T>
T present(std::optional<T>&& o) {
  return std::move(present(o));
}

}  // namespace holdfast
