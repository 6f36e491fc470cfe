// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace holdfast::native {

/// Zeroed volatile memory that lives as long as this object. No two blocks share a cache line.
/// Thread safe. allocate() throws std::bad_alloc.
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(size_t bytes, size_t alignment);

 private:
  struct Block {
    void* memory;
    size_t mapped_bytes;  // 0 for a block of the C library
  };
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

}  // namespace holdfast::native
