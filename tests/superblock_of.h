// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "holdfast/heap/file/superblock.h"

namespace holdfast {

/// Returns the superblock of a heap's image. Throws if both copies are damaged.
inline Superblock superblock_of(std::span<const std::byte> image) {
  bool healed = false;
  return choose(image.first(kHeaderBytes), "image", &healed).value();
}

}  // namespace holdfast
