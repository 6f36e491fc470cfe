// SPDX-License-Identifier: Apache-2.0
//
// Addresses and sizes of objects as bytes. Fields may hold pointers, and generic code that moves a
// field's bytes uses these functions. A lint looks for a forgotten *: a pointer to a pointer that
// becomes a void*, or the size of a pointer. It has nothing to report in any other place.
#pragma once

#include <cstddef>

namespace holdfast {

/// The address of an object, for code that handles its bytes.
template <class T>
const void* bytes_at(const T* p) {
  return static_cast<const void*>(p);
}
template <class T>
void* bytes_at(T* p) {
  return static_cast<void*>(p);
}

/// The size of a T, which may be a pointer.
template <class T>
inline constexpr size_t kBytesOf = sizeof(T);  // NOLINT(bugprone-sizeof-expression): see above

}  // namespace holdfast
