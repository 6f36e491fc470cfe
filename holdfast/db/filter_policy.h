// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/db/slice.h"

namespace holdfast::db {

/// LevelDB's filter that saves reading tables without a key, to be made or derived from, and handed
/// over. Here there are no tables, and it is never asked.
class FilterPolicy {
 public:
  FilterPolicy() = default;
  FilterPolicy(const FilterPolicy&) = delete;
  FilterPolicy& operator=(const FilterPolicy&) = delete;
  virtual ~FilterPolicy();

  virtual const char* Name() const { return "holdfast.NoFilter"; }
  virtual void CreateFilter(const Slice* /*keys*/, int /*n*/, std::string* /*to*/) const {}
  virtual bool KeyMayMatch(const Slice& /*key*/, const Slice& /*filter*/) const { return true; }
};

/// Deleted by the caller, after the database.
const FilterPolicy* NewBloomFilterPolicy(int bits_per_key);

}  // namespace holdfast::db
