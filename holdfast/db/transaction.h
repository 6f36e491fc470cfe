// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/db/iterator.h"
#include "holdfast/db/slice.h"
#include "holdfast/db/status.h"

namespace holdfast::db {

class ColumnFamilyHandle;

/// The view of the database inside a body of DB::Transact.
///
/// Isolation: serialisable with every engine. Reads see the body's own writes. They do not see
/// writes of transactions that commit after this one has begun. A key that the body has read does
/// not change before this transaction commits. Ranges that an iterator has crossed count as read:
/// no other transaction inserts a key there.
///
/// Thread safety: only the thread that runs the body uses it, and only until the body returns.
///
/// Errors: Get returns NotFound for a key without a value. All other failures, such as a full log,
/// end the body by an exception and are returned by Transact. If the body swallows the exception,
/// the transaction does not commit, and Transact returns the failure or throws the exception.
///
/// Durability: the writes are durable when Transact returns ok. With an engine that bounds
/// transactions, all of them together must fit into its log.
class Transaction {
 public:
  Transaction() = default;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  virtual ~Transaction() = default;

  /// Returns NotFound, and leaves *value alone, if the key has no value.
  virtual Status Get(const Slice& key, std::string* value) = 0;
  virtual void Put(const Slice& key, const Slice& value) = 0;
  /// Does nothing if the key does not exist.
  virtual void Delete(const Slice& key) = 0;
  /// Deletes all keys from `begin`, inclusive, to `end`, exclusive.
  virtual Status DeleteRange(const Slice& begin, const Slice& end) = 0;
  /// Returns an iterator, which the caller deletes before the transaction ends. The transaction may
  /// write meanwhile, also at the iterator's place; each step shows the writes before it.
  virtual Iterator* NewIterator() = 0;

  // The functions above for a named map (DB::OpenColumnFamily). A null handle stands for the
  // default map. The transaction fails with InvalidArgument if it writes through a handle of a
  // dropped map or of another database.
  virtual Status Get(const ColumnFamilyHandle* family, const Slice& key, std::string* value) = 0;
  virtual void Put(const ColumnFamilyHandle* family, const Slice& key, const Slice& value) = 0;
  virtual void Delete(const ColumnFamilyHandle* family, const Slice& key) = 0;
  virtual Status DeleteRange(const ColumnFamilyHandle* family, const Slice& begin,
                             const Slice& end) = 0;
  virtual Iterator* NewIterator(const ColumnFamilyHandle* family) = 0;
};

/// A transaction for code that cannot be a function to be run again; DB::BeginTransaction makes it.
///
/// Isolation: serialisable. Reads see the state at the beginning, with the transaction's own writes
/// on top. Writes stay in memory until Commit. Commit succeeds only if no other transaction has
/// changed a key that this one has read, or any key of a range that its iterators have crossed.
///
/// Thread safety: one thread at a time. It holds no lock and makes no other thread wait. The caller
/// deletes it, before the database; a transaction without Commit changes nothing.
///
/// Cost: Commit is one update transaction, which looks up each key that was read, and walks the
/// ranges, a part of several only once. Long values need not fit into the engine's log.
class OptimisticTransaction : public Transaction {
 public:
  /// Tries to commit; call it once.
  ///
  /// Ok and *committed: the writes are durable. Ok and not *committed: another transaction has
  /// changed what was read. Then nothing has changed, and the caller begins again with a new
  /// transaction. Not ok: nothing has changed.
  virtual Status Commit(bool* committed) = 0;
};

}  // namespace holdfast::db
