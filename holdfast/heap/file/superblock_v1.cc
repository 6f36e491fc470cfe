// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/file/superblock_v1.h"

#include <cstring>

#include "holdfast/base/checksum.h"
#include "holdfast/heap/file/superblock_text.h"

namespace holdfast::v1 {
namespace {

// The superblock's layout in the file, little endian. The checksum is its page's last word.
struct Raw {
  char magic[8];
  uint32_t format;
  uint32_t copies;  // 2: every segment is followed by its twin; 3: by its cells
  uint64_t sequence;
  uint8_t uuid[16];
  char engine[kEngineNameBytes];
  uint64_t base;
  uint64_t segment_bytes;
  uint64_t segments;
  uint64_t capacity;
  uint64_t area_bytes;
  uint64_t chunk_bytes;
  uint32_t slots;
  uint32_t options_bytes;
  char options[kOptionsBytes];
};
static_assert(sizeof(Raw) == 8 + 8 + 8 + 16 + 32 + 6 * 8 + 8 + kOptionsBytes);
static_assert(sizeof(Raw) + 8 <= kSuperblockBytes);

constexpr uint64_t kMost = uint64_t{1} << 46;
constexpr uint64_t kMostSegments = 1 << 20;

/// Returns whether the extents below have no absurd sizes.
bool plausible(const Raw& raw) {
  return raw.copies >= 1 && raw.copies <= 3 && raw.segment_bytes > 0 && raw.area_bytes < kMost &&
         raw.capacity < kMost && raw.segments > 0 && raw.segments <= kMostSegments &&
         raw.segments <= raw.capacity / raw.segment_bytes && raw.options_bytes <= kOptionsBytes;
}

void list_extents(const Raw& raw, Superblock* to) {
  uint64_t offset = kHeaderBytes;
  const auto add = [&](ExtentKind kind, uint64_t bytes) {
    if (bytes != 0) {
      to->extents.push_back({kind, offset, bytes});
      offset += bytes;
    }
  };
  add(ExtentKind::area, raw.area_bytes);
  if (raw.copies == 1) {
    return add(ExtentKind::data, raw.segments * raw.segment_bytes);
  }
  for (uint64_t i = 0; i < raw.segments; ++i) {
    add(ExtentKind::data, raw.segment_bytes);
    raw.copies == 2 ? add(ExtentKind::twin, raw.segment_bytes)
                    : add(ExtentKind::cells, 2 * raw.segment_bytes);
  }
}

}  // namespace

Result<Superblock> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kSuperblockBytes || format_of(bytes) != 1) {
    return Status(Code::wrong_format, "this is not a superblock of format 1");
  }
  Raw raw{};
  std::memcpy(&raw, bytes.data(), sizeof raw);
  uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + kSuperblockBytes - sizeof sum, sizeof sum);
  if (sum != checksum(bytes.data(), kSuperblockBytes - sizeof sum) || !plausible(raw)) {
    return Status(Code::corrupt, "the superblock is damaged");
  }
  Superblock s;
  s.format = 1;
  s.sequence = raw.sequence;
  std::memcpy(s.uuid.data(), raw.uuid, s.uuid.size());
  s.engine = std::string(raw.engine, strnlen(raw.engine, kEngineNameBytes));
  s.options = split(std::string_view(raw.options, raw.options_bytes));
  s.base = raw.base;
  s.capacity = raw.capacity;
  s.chunk_bytes = raw.chunk_bytes;
  s.growth_bytes = raw.segment_bytes;
  s.slots = raw.slots;
  list_extents(raw, &s);
  return s;
}

}  // namespace holdfast::v1
