// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace holdfast::db {

/// Rounds `bytes` up to whole words of 8 bytes. Data that begins at a word is copied faster.
constexpr size_t whole_words(size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

}  // namespace holdfast::db
