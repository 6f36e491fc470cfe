// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// Asks for the cache lines of [p, p + bytes) ahead of their use, so that they come side by side
/// and not one after the other. A hint to the computer the program runs on: it reads nothing, so
/// any address will do, and a simulated machine does not notice.
inline void prefetch(const void* p, size_t bytes) {
  constexpr size_t kLine = 64;
  const auto begin = reinterpret_cast<uintptr_t>(p);  // of a null pointer there is no second line
  for (size_t at = 0; at < bytes; at += kLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(begin + at));
  }
}

}  // namespace holdfast
