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

/// A transaction whose body is not a function that can be run again: what it reads is the database
/// as it was when it began, with its own writes on top; what it writes is kept in memory until
/// Commit. Serialisable: it commits only where nobody has changed what it read. Holds no lock, and
/// makes nobody wait. Writes need not fit into a log.
///
/// Thread safety: one thread at a time. Deleted by the caller, before the database; without a
/// Commit nothing has happened.
class OptimisticTransaction : public Transaction {
 public:
  /// Ok and *committed: the writes are durable. Ok and not *committed: somebody has changed what
  /// was read, nothing has happened, and the work is to be done anew. Once.
  virtual Status Commit(bool* committed) = 0;
};

}  // namespace holdfast::db
