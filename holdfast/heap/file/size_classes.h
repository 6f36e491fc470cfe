// SPDX-License-Identifier: Apache-2.0
//
// The allocator's size classes.
#pragma once

#include <array>
#include <cstddef>

#include "holdfast/machine/machine.h"

namespace holdfast {

inline constexpr size_t kClasses = 31;
/// The block sizes of an allocator, smallest first.
using ClassSizes = std::array<size_t, kClasses>;

/// 16, 32, 48, multiples of 64 up to 512, then four sizes per doubling up to 16 KiB. Blocks of 64
/// bytes and more begin on a cache line.
inline constexpr ClassSizes kLineClasses = [] {
  ClassSizes sizes{16, 32, 48};
  size_t n = 3;
  for (size_t size = 64; size <= 512; size += 64) {
    sizes[n++] = size;
  }
  for (size_t step = 128; step <= 2048; step *= 2) {
    for (size_t i = 5; i <= 8; ++i) {
      sizes[n++] = i * step;
    }
  }
  return sizes;
}();
static_assert(kLineClasses.back() == 16384 && kLineClasses[11] == 640);

/// Four more sizes below 256, and none above 8192: no chunk of kMostFineChunk bytes shares those.
/// Small blocks waste less, but share lines. Blocks whose size is a multiple of 64 begin on a line.
inline constexpr ClassSizes kFineClasses = [] {
  ClassSizes sizes{16, 32, 48, 64, 80, 96, 128, 160, 192, 224};
  size_t n = 10;
  for (size_t size = 256; size <= 512; size += 64) {
    sizes[n++] = size;
  }
  for (size_t step = 128; n < kClasses; step *= 2) {
    for (size_t i = 5; i <= 8 && n < kClasses; ++i) {
      sizes[n++] = i * step;
    }
  }
  return sizes;
}();
inline constexpr size_t kMostFineChunk = 16384;

/// Returns the class for blocks of `bytes`, or kClasses if a block needs chunks of its own.
constexpr size_t class_of(const ClassSizes& sizes, size_t bytes, size_t largest) {
  if (bytes > largest) {
    return kClasses;
  }
  size_t low = 0;
  size_t high = kClasses;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (sizes[middle] < bytes) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The first line of a chunk describes the chunk. Its blocks follow.
inline constexpr size_t kChunkHeaderBytes = kLineBytes;
inline constexpr size_t kMinChunkBytes = 1024;
inline constexpr size_t kMaxChunkBytes = 65536;

/// The map of a shared chunk follows six words of its header, and has a bit for each 16 bytes.
inline constexpr size_t kBlockUnit = 16;
inline constexpr size_t kMapOffset = 48;

/// Returns the bytes of a shared chunk before its first block, with the map.
constexpr size_t shared_header_bytes(size_t chunk_bytes) {
  const size_t bytes = kMapOffset + (chunk_bytes / kBlockUnit + 63) / 64 * 8;
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

/// Returns the size of the largest blocks that share chunks: at least three fit into a chunk.
constexpr size_t largest_shared(const ClassSizes& sizes, size_t chunk_bytes, size_t header_bytes) {
  size_t largest = sizes[0];
  for (const size_t size : sizes) {
    if (size <= (chunk_bytes - header_bytes) / 3) {
      largest = size;
    }
  }
  return largest;
}
static_assert(largest_shared(kFineClasses, kMostFineChunk, shared_header_bytes(kMostFineChunk)) ==
              largest_shared(kLineClasses, kMostFineChunk, shared_header_bytes(kMostFineChunk)));

}  // namespace holdfast
