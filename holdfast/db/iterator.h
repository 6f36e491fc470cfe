// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "holdfast/db/slice.h"
#include "holdfast/db/status.h"

namespace holdfast::db {

/// A walk over a database as it was when the iterator was opened.
///
/// Holds no lock: between calls anybody may write, the caller included. Thread safety: one thread
/// at a time, unless only const functions are called. Delete it before the database.
class Iterator {
 public:
  Iterator() = default;
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  /// Runs the registered clean-ups.
  virtual ~Iterator();

  /// Whether the iterator stands at an entry.
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  /// To the first entry at or after target.
  virtual void Seek(const Slice& target) = 0;
  /// Both need Valid().
  virtual void Next() = 0;
  virtual void Prev() = 0;
  /// Both need Valid(); the bytes stay until the iterator moves.
  virtual Slice key() const = 0;
  virtual Slice value() const = 0;
  virtual Status status() const = 0;

  // Holdfast's own.

  /// Next, and what it leads to, in one call instead of four. False, and *key and *value as they
  /// were, where that is no entry.
  virtual bool NextEntry(Slice* key, Slice* value);
  /// The same for Prev.
  virtual bool PrevEntry(Slice* key, Slice* value);

  using CleanupFunction = void (*)(void* first, void* second);
  void RegisterCleanup(CleanupFunction function, void* first, void* second);

 private:
  bool show(Slice* key, Slice* value) const;

  std::vector<std::function<void()>> clean_ups_;
};

/// Without entries, and with this status.
Iterator* NewEmptyIterator();
Iterator* NewErrorIterator(const Status& status);

}  // namespace holdfast::db
