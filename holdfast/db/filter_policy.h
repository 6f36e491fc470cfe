// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/db/slice.h"

namespace holdfast::db {

/// Stands in for LevelDB's filter, which saves reading tables that do not have a key. A heap has no
/// tables, so the database never calls it. It is there so that programs for LevelDB compile.
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

/// Ignores its argument. The caller deletes the policy, after the database.
const FilterPolicy* NewBloomFilterPolicy(int bits_per_key);

}  // namespace holdfast::db
