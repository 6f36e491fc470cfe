// SPDX-License-Identifier: Apache-2.0
//
// The superblock of format 1, which this version reads and no longer writes.
#pragma once

#include "holdfast/heap/file/superblock.h"

namespace holdfast::v1 {

inline constexpr size_t kSuperblockBytes = kPageBytes;
inline constexpr size_t kHeaderBytes = 2 * kSuperblockBytes;

/// Like holdfast::decode. A heap of format 1 has segments of one size, each followed by its twin or
/// its cells. The result lists them as extents.
Result<Superblock> decode(std::span<const std::byte> bytes);

}  // namespace holdfast::v1
