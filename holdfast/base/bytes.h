// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace holdfast {

// Fields may hold pointers. Code that moves a field's bytes, whatever its type, says so with these:
// a tool that looks for a forgotten * where a pointer to a pointer becomes a void*, or where the
// size of a pointer is taken, finds it nowhere else.

/// An object's address, for code that handles its bytes.
template <class T>
const void* bytes_at(const T* p) {
  return static_cast<const void*>(p);
}
template <class T>
void* bytes_at(T* p) {
  return static_cast<void*>(p);
}

/// An object's size, where it may be a pointer.
template <class T>
inline constexpr size_t kBytesOf = sizeof(T);  // NOLINT(bugprone-sizeof-expression): see above

}  // namespace holdfast
