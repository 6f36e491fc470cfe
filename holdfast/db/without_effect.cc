// SPDX-License-Identifier: Apache-2.0
//
// Objects that programs for LevelDB make and pass, and that have no effect on a heap.
#include "holdfast/db/cache.h"
#include "holdfast/db/filter_policy.h"

namespace holdfast::db {

Cache::~Cache() = default;
FilterPolicy::~FilterPolicy() = default;

Cache* NewLRUCache(size_t /*capacity*/) {
  return new Cache;
}

const FilterPolicy* NewBloomFilterPolicy(int /*bits_per_key*/) {
  return new FilterPolicy;
}

}  // namespace holdfast::db
