// SPDX-License-Identifier: Apache-2.0
//
// The allocator's size classes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "holdfast/base/round.h"
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

/// The first line of a chunk describes the chunk. Its blocks follow.
inline constexpr size_t kChunkHeaderBytes = kLineBytes;
inline constexpr size_t kMinChunkBytes = 1024;
inline constexpr size_t kMaxChunkBytes = 65536;
/// The chunk size of a heap that begins with `bytes` of data. A small heap gets small chunks,
/// because each of thirty size classes may need chunks of its own.
constexpr size_t default_chunk_bytes(size_t bytes) {
  size_t chunk = kMaxChunkBytes;
  while (chunk > kMinChunkBytes && chunk * 256 > bytes) {
    chunk /= 2;
  }
  return chunk;
}

/// The map of a shared chunk follows six words of its header, and has a bit for each 16 bytes.
inline constexpr size_t kBlockUnit = 16;
inline constexpr size_t kMapOffset = 48;

/// The class of the smallest blocks with n units, by n; kClasses if no block is so large.
using ClassTable = std::array<uint8_t, kLineClasses.back() / kBlockUnit + 1>;
constexpr ClassTable table_of(const ClassSizes& sizes) {
  ClassTable table{};
  size_t size_class = 0;
  for (size_t units = 0; units < table.size(); ++units) {
    while (size_class < kClasses && sizes[size_class] < units * kBlockUnit) {
      ++size_class;
    }
    table[units] = static_cast<uint8_t>(size_class);
  }
  return table;
}
inline constexpr ClassTable kLineTable = table_of(kLineClasses);
inline constexpr ClassTable kFineTable = table_of(kFineClasses);

/// Returns the class for blocks of `bytes`; kClasses if they are too large for the classes. Each
/// allocation and each free calls it, so it looks the class up.
constexpr size_t class_of(const ClassTable& table, size_t bytes) {
  const size_t units = (bytes + kBlockUnit - 1) / kBlockUnit;
  return bytes <= kLineClasses.back() ? table[units] : kClasses;
}

/// Returns the bytes of a shared chunk before its first block, with the map.
constexpr size_t shared_header_bytes(size_t chunk_bytes) {
  const size_t bytes = kMapOffset + (chunk_bytes / kBlockUnit + 63) / 64 * 8;
  return round_up(bytes, kLineBytes);
}

/// Returns whether blocks of this size share chunks: at least three fit into a chunk.
constexpr bool share_chunks(size_t size, size_t chunk_bytes, size_t header_bytes) {
  return 3 * size <= chunk_bytes - header_bytes;
}
static_assert(share_chunks(kLineClasses[0], kMinChunkBytes, shared_header_bytes(kMinChunkBytes)));
// No chunk that may have kFineClasses shares blocks of a size that these lack.
static_assert(!share_chunks(kFineClasses.back() + 1, kMostFineChunk,
                            shared_header_bytes(kMostFineChunk)));

}  // namespace holdfast
