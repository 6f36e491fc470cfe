// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "holdfast/db/slice.h"
#include "holdfast/db/status.h"

namespace holdfast::db {

/// A walk over the entries of a database, in the order of keys; DB::NewIterator makes it.
///
/// Shows the state at the time it was made, or the state of ReadOptions::snapshot. It holds no
/// lock: any thread may write between its calls.
///
/// Errors: after a failed step Valid() is false and status() is not ok.
///
/// Thread safety: one thread at a time; const functions may run concurrently with each other.
/// Delete the iterator before the database.
///
/// Cost: a seek is one search in the tree. A step takes the next entry from a buffer of entries
/// read ahead, of up to 16 KiB or 512 entries.
class Iterator {
 public:
  Iterator() = default;
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  /// Calls the registered cleanup functions.
  virtual ~Iterator();

  /// Returns whether the iterator is at an entry.
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  /// Moves to the first entry whose key is at or after target.
  virtual void Seek(const Slice& target) = 0;
  /// Moves to the next entry. Requires Valid().
  virtual void Next() = 0;
  /// Moves to the previous entry. Requires Valid().
  virtual void Prev() = 0;
  /// key() and value() require Valid(). Their bytes stay unchanged until the iterator moves.
  virtual Slice key() const = 0;
  virtual Slice value() const = 0;
  virtual Status status() const = 0;

  // NextEntry and PrevEntry are Holdfast's own.

  /// Calls Next, Valid, key and value at once. Returns false, and leaves *key and *value alone,
  /// when the iterator is past the last entry.
  virtual bool NextEntry(Slice* key, Slice* value);
  /// Calls Prev, Valid, key and value at once, like NextEntry.
  virtual bool PrevEntry(Slice* key, Slice* value);

  using CleanupFunction = void (*)(void* first, void* second);
  /// Has the destructor call function(first, second).
  void RegisterCleanup(CleanupFunction function, void* first, void* second);

 private:
  bool show(Slice* key, Slice* value) const;

  std::vector<std::function<void()>> clean_ups_;
};

/// Returns an iterator without entries. The caller deletes it.
Iterator* NewEmptyIterator();
/// Returns an iterator without entries and with this status. The caller deletes it.
Iterator* NewErrorIterator(const Status& status);

}  // namespace holdfast::db
