// SPDX-License-Identifier: Apache-2.0
//
// What LevelDB programs make and pass, and a heap has no use for.
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
