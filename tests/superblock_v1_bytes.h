// SPDX-License-Identifier: Apache-2.0
//
// Superblocks of format 1, which only older programs have written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/heap/file/superblock_v1.h"

namespace holdfast {

/// The layout of such a superblock.
struct SuperblockV1 {
  char magic[8] = {'H', 'O', 'L', 'D', 'F', 'A', 'S', 'T'};
  uint32_t format = 1;
  uint32_t copies = 1;
  uint64_t sequence = 1;
  uint8_t uuid[16] = {};
  char engine[32] = {};
  uint64_t base = 0;
  uint64_t segment_bytes = 0;
  uint64_t segments = 1;
  uint64_t capacity = 0;
  uint64_t area_bytes = 0;
  uint64_t chunk_bytes = 0;
  uint32_t slots = 0;
  uint32_t options_bytes = 0;
  char options[2048] = {};
};

/// Returns the page with this superblock and its checksum.
inline std::vector<std::byte> page_of(const SuperblockV1& raw) {
  std::vector<std::byte> page(v1::kSuperblockBytes);
  std::memcpy(page.data(), &raw, sizeof raw);
  const uint64_t sum = checksum(page.data(), page.size() - 8);
  std::memcpy(page.data() + page.size() - 8, &sum, sizeof sum);
  return page;
}

}  // namespace holdfast
