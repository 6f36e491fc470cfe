// SPDX-License-Identifier: Apache-2.0
//
// The superblock of a heap file: format, engine, options and sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "holdfast/base/status.h"
#include "holdfast/engines/engine.h"

namespace holdfast {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr size_t kSuperblockBytes = kPageBytes;
inline constexpr size_t kSuperblocks = 2;
inline constexpr size_t kHeaderBytes = kSuperblocks * kSuperblockBytes;

/// The description of a heap in its file. The file begins with two copies. They are written one
/// after the other, and the first is durable before the second is written. So one of them is whole
/// after any crash. docs/reference/file-format.md has the byte map.
struct Superblock {
  uint64_t sequence = 0;  ///< the copy with the larger number is the newer one
  std::array<uint8_t, 16> uuid{};
  std::string engine;
  Options options;             ///< options given at creation; they decide the engine's layout
  uint64_t base = 0;           ///< address of the data region
  uint64_t segment_bytes = 0;  ///< the file grows by segments
  uint64_t segments = 0;       ///< segments in the file
  uint64_t capacity = 0;       ///< address space reserved for the data region
  uint64_t area_bytes = 0;     ///< size of the engine area
  uint64_t chunk_bytes = 0;    ///< allocator's unit
  uint32_t copies = 1;         ///< 2: every segment is followed by its twin; 3: by its cells
  uint32_t slots = 0;          ///< thread slots, the machine's own included; sizes logs and arenas

  size_t data_bytes() const { return segment_bytes * segments; }
  size_t area_offset() const { return kHeaderBytes; }
  size_t segment_offset(uint64_t segment, uint32_t copy) const {
    return kHeaderBytes + area_bytes + (segment * copies + copy) * segment_bytes;
  }
  size_t file_bytes() const { return segment_offset(segments, 0); }
  std::string uuid_text() const;
};

using SuperblockBytes = std::array<std::byte, kSuperblockBytes>;

/// Returns the superblock's bytes. invalid_argument: the engine's name or options are too long.
Result<SuperblockBytes> encode(const Superblock& superblock);

/// Reads one copy. wrong_format: it is not a heap, or has a newer format. corrupt: it is damaged.
Result<Superblock> decode(const SuperblockBytes& bytes);

/// Returns the valid copy, or the newer of two valid ones. `name` is the file, for messages.
/// *healed: one of the copies is damaged.
Result<Superblock> choose(const SuperblockBytes& first, const SuperblockBytes& second,
                          const std::string& name, bool* healed);

/// Checks that all values are plausible, and that a file of this size can hold the heap. Later
/// steps trust them.
Status validate(const Superblock& superblock, size_t file_bytes, const std::string& name);

}  // namespace holdfast
