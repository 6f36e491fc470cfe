// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/support/host_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "holdfast/base/round.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/support/zeroed_array.h"

namespace holdfast::sim {

HostPages::~HostPages() {
  for (const Mapping& mapping : free_) {
    unmap_zeroed(mapping.pages, mapping.bytes);
  }
  for (const Mapping& stack : stacks_) {
    munmap(stack.pages, stack.bytes);
  }
}

void* HostPages::take(size_t bytes) {
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const Mapping& mapping) { return mapping.bytes == bytes; });
  if (found == free_.end()) {
    return map_zeroed(bytes);
  }
  void* const pages = found->pages;
  free_.erase(found);
  return pages;
}

void* HostPages::take_at(const void* address, size_t bytes) {
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const Mapping& mapping) { return mapping.pages == address; });
  if (found == free_.end()) {
    return nullptr;
  }
  const Mapping mapping = *found;
  free_.erase(found);
  if (mapping.bytes == bytes) {
    return mapping.pages;
  }
  unmap_zeroed(mapping.pages, mapping.bytes);
  return nullptr;
}

void HostPages::give_back(void* pages, size_t bytes) noexcept {
  free_.push_back({pages, bytes});
}

void* HostPages::take_stack(size_t bytes) {
  if (stacks_.empty() || stacks_.back().bytes != bytes) {
    return nullptr;
  }
  void* const pages = stacks_.back().pages;
  stacks_.pop_back();
  return pages;
}

void HostPages::give_stack_back(void* pages, size_t bytes) noexcept {
  stacks_.push_back({pages, bytes});
}

void clear_pages(void* begin, size_t n) noexcept {
  constexpr size_t kInPlace = size_t{1} << 20;
  if (n <= kInPlace) {
    std::memset(begin, 0, n);
    return;
  }
  // Only whole pages are given up, because other data may share the pages at both ends.
  const auto from = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = round_up(from, kPageBytes);
  const uintptr_t last = round_down(from + n, kPageBytes);
  std::memset(begin, 0, first - from);
  madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  std::memset(reinterpret_cast<void*>(last), 0, from + n - last);
}

}  // namespace holdfast::sim
