// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "holdfast/heap/file/superblock.h"

namespace holdfast {

/// Returns the superblock of a heap's image. Throws if both copies are damaged.
inline Superblock superblock_of(std::span<const std::byte> image) {
  bool healed = false;
  return choose(image.first(kHeaderBytes), "image", &healed).value();
}

/// Returns the beginning of a file with these two copies.
inline std::vector<std::byte> header_of(const Superblock& first, const Superblock& second) {
  std::vector<std::byte> header(kHeaderBytes);
  const std::vector<std::byte> a = encode(first).value();
  const std::vector<std::byte> b = encode(second).value();
  std::copy(a.begin(), a.end(), header.begin());
  std::copy(b.begin(), b.end(), header.begin() + kSuperblockBytes);
  return header;
}

}  // namespace holdfast
