// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast::native {

/// Copies a line that other threads may be storing to, as a prefix of their stores: it reads the
/// words upwards, then downwards, until both passes agree. Then each word held its value from the
/// first pass to the second, so all of them did when the first pass ended. A word that changes and
/// changes back between the two passes would go unnoticed.
///
/// `load(i)` loads word i; loads are in program order.
template <class Load>
void copy_line_with(uint64_t* to, Load&& load) {
  constexpr size_t kWords = kLineBytes / sizeof(uint64_t);
  for (;;) {
    for (size_t i = 0; i < kWords; ++i) {
      to[i] = load(i);
    }
    bool agree = true;
    for (size_t i = kWords; i-- > 0;) {
      agree = load(i) == to[i] && agree;
    }
    if (agree) {
      return;
    }
  }
}

/// As above, from memory. `to` need not be aligned.
inline void copy_line(std::byte* to, const std::byte* from) {
  using AliasedWord [[gnu::may_alias]] = uint64_t;
  const auto* words = reinterpret_cast<const AliasedWord*>(from);
  uint64_t copy[kLineBytes / sizeof(uint64_t)];
  // Acquire keeps the loads in program order.
  copy_line_with(copy, [&](size_t i) { return __atomic_load_n(words + i, __ATOMIC_ACQUIRE); });
  __builtin_memcpy(to, copy, sizeof copy);
}

}  // namespace holdfast::native
