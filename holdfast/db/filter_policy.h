// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast::db {

/// LevelDB's filter that saves reading tables without a key, to be made and handed over. Here there
/// are no tables, and it is never asked.
class FilterPolicy {
 public:
  FilterPolicy() = default;
  FilterPolicy(const FilterPolicy&) = delete;
  FilterPolicy& operator=(const FilterPolicy&) = delete;
  virtual ~FilterPolicy();
};

/// Deleted by the caller, after the database.
const FilterPolicy* NewBloomFilterPolicy(int bits_per_key);

}  // namespace holdfast::db
