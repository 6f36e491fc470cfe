// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/memory/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "holdfast/base/round.h"
#include "holdfast/machine/machine.h"

namespace holdfast::native {
namespace {

// Blocks of at least this size are mapped by the system. They are zero, and take memory only when
// they are touched.
constexpr size_t kMapped = size_t{64} << 10;

void* map_pages(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

}  // namespace

Arena::~Arena() {
  for (const Block& block : blocks_) {
    if (block.mapped_bytes != 0) {
      munmap(block.memory, block.mapped_bytes);
    } else {
      std::free(block.memory);
    }
  }
}

void* Arena::allocate(size_t bytes, size_t alignment) {
  alignment = std::max(alignment, kMaxLineBytes);
  if (bytes > SIZE_MAX / 2) {
    throw std::bad_alloc();
  }
  bytes = round_up(std::max<size_t>(bytes, 1), alignment);
  const std::lock_guard lock(mutex_);
  blocks_.reserve(blocks_.size() + 1);
  // A block with a large alignment is rare; it comes from the C library like a small one.
  const bool mapped = bytes >= kMapped && alignment <= kPageBytes;
  void* memory =
      mapped ? map_pages(round_up(bytes, kPageBytes)) : std::aligned_alloc(alignment, bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  if (!mapped) {
    std::memset(memory, 0, bytes);
  }
  blocks_.push_back({memory, mapped ? round_up(bytes, kPageBytes) : 0});
  return memory;
}

}  // namespace holdfast::native
