// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "holdfast/machine/machine.h"

namespace holdfast::native {
namespace {

// Large blocks come straight from the system: zero, and taking memory only as they are touched.
constexpr size_t kMapped = size_t{64} << 10;

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

void* map_pages(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

}  // namespace

Arena::~Arena() {
  for (const Block& block : blocks_) {
    if (block.bytes >= kMapped) {
      munmap(block.memory, block.bytes);
    } else {
      std::free(block.memory);
    }
  }
}

void* Arena::allocate(size_t bytes, size_t alignment) {
  // Two lines: processors fetch neighbouring lines in pairs.
  alignment = std::max(alignment, 2 * kLineBytes);
  if (bytes > SIZE_MAX / 2) {
    throw std::bad_alloc();
  }
  bytes = round_up(std::max<size_t>(bytes, 1), alignment);
  const std::lock_guard lock(mutex_);
  blocks_.reserve(blocks_.size() + 1);
  void* memory = nullptr;
  if (bytes >= kMapped && alignment <= kPageBytes) {
    bytes = round_up(bytes, kPageBytes);
    memory = map_pages(bytes);
  } else if ((memory = std::aligned_alloc(alignment, bytes)) != nullptr) {
    std::memset(memory, 0, bytes);
    if (bytes >= kMapped) {  // an alignment of more than a page: rare, and freed like a small block
      blocks_.push_back({memory, 0});
      return memory;
    }
  }
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  blocks_.push_back({memory, bytes});
  return memory;
}

}  // namespace holdfast::native
