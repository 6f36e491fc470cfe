// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/heap_check.h"

namespace holdfast {

Block* find_block(std::vector<Block>& blocks, uint64_t offset) {
  const auto found =
      std::lower_bound(blocks.begin(), blocks.end(), offset,
                       [](const Block& block, uint64_t at) { return block.offset < at; });
  return found != blocks.end() && found->offset == offset ? &*found : nullptr;
}

void account(std::vector<Block>& blocks, HeapCheck& check) {
  for (const Block& block : blocks) {
    if (block.free) {
      ++check.free_blocks;
      check.free_bytes += block.bytes;
      continue;
    }
    ++check.allocated_blocks;
    check.allocated_bytes += block.bytes;
    if (!block.reached) {
      ++check.leaked_blocks;
      check.leaked_bytes += block.bytes;
      check.error("leak: the block of " + std::to_string(block.bytes) + " bytes at offset " +
                  std::to_string(block.offset) + " has no owner");
    }
  }
}

}  // namespace holdfast
