// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace holdfast::db {

/// Stands in for LevelDB's cache of blocks, so that programs for LevelDB compile. It holds nothing:
/// a heap is mapped memory, which the operating system caches.
///
/// Thread safety: any thread may call any function.
class Cache {
 public:
  Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  virtual ~Cache();

  virtual void Prune() {}
  virtual size_t TotalCharge() const { return 0; }
};

/// Ignores the capacity. The caller deletes the cache, after the database.
Cache* NewLRUCache(size_t capacity);

}  // namespace holdfast::db
