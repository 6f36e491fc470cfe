// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace holdfast::db {

/// Where what follows so many bytes begins. Words are copied faster than bytes, where both sides
/// are aligned.
constexpr size_t whole_words(size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

}  // namespace holdfast::db
