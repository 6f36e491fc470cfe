// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// Asks for the cache lines of [p, p + bytes) before their use, so that their misses overlap. It is
/// a hint to the host computer. It reads nothing, so any address is allowed, and it has no effect
/// on a simulated machine.
inline void prefetch(const void* p, size_t bytes) {
  constexpr size_t kLine = 64;
  const auto begin = reinterpret_cast<uintptr_t>(p);  // an integer, because p + at may not exist
  for (size_t at = 0; at < bytes; at += kLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(begin + at));
  }
}

/// Asks for lines that will be stored to.
inline void prefetch_for_stores(const void* p, size_t bytes) {
  constexpr size_t kLine = 64;
  const auto begin = reinterpret_cast<uintptr_t>(p);
  const uintptr_t end = begin + bytes;
  for (uintptr_t at = begin & ~(kLine - 1); at < end; at += kLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(at), 1);
  }
}

}  // namespace holdfast
