// SPDX-License-Identifier: Apache-2.0
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

/// What a heap file says about itself. Two copies stand at the start of the file; they are written
/// one after the other, each made durable before the next, so one of them is whole after any crash.
/// docs/reference/file-format.md has the byte map.
struct Superblock {
  uint64_t sequence = 0;  ///< the copy with the larger number is the newer
  std::array<uint8_t, 16> uuid{};
  std::string engine;
  Options options;             ///< those given at creation; engines derive their layout from them
  uint64_t base = 0;           ///< address of the data region
  uint64_t segment_bytes = 0;  ///< the file grows by segments
  uint64_t segments = 0;       ///< in use
  uint64_t capacity = 0;       ///< address space reserved for the data region
  uint64_t area_bytes = 0;     ///< engine area
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

/// Fails when the options do not fit.
Result<SuperblockBytes> encode(const Superblock& superblock);

/// Reads one copy. wrong_format: not a heap, or a newer format. corrupt: damaged.
Result<Superblock> decode(const SuperblockBytes& bytes);

/// Chooses between the two copies; `name` is the file, for messages. `healed` tells that one was
/// damaged.
Result<Superblock> choose(const SuperblockBytes& first, const SuperblockBytes& second,
                          const std::string& name, bool* healed);

/// Plausibility of everything a later step will trust, and that a file of this size can hold it.
Status validate(const Superblock& superblock, size_t file_bytes, const std::string& name);

}  // namespace holdfast
