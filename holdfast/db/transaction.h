// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/db/slice.h"
#include "holdfast/db/status.h"

namespace holdfast::db {

/// What the body of DB::Transact works with: reads see the body's own writes, and nothing of other
/// transactions that was not there when this one began. Serialisable with every engine: what a
/// body has read with Get nobody else changes before it commits.
class Transaction {
 public:
  Transaction() = default;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  virtual ~Transaction() = default;

  /// NotFound where there is no value.
  virtual Status Get(const Slice& key, std::string* value) = 0;
  virtual void Put(const Slice& key, const Slice& value) = 0;
  /// A key that is not there is no error.
  virtual void Delete(const Slice& key) = 0;
};

}  // namespace holdfast::db
