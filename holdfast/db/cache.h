// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace holdfast::db {

/// LevelDB's cache of blocks, to be made and handed over. Here it holds nothing: the heap is mapped
/// memory, and the operating system caches it.
class Cache {
 public:
  Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  virtual ~Cache();

  virtual void Prune() {}
  virtual size_t TotalCharge() const { return 0; }
};

/// Deleted by the caller, after the database.
Cache* NewLRUCache(size_t capacity);

}  // namespace holdfast::db
