// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "holdfast/db/slice.h"
#include "holdfast/db/status.h"

namespace holdfast::db {

/// A list of puts and deletes that DB::Write applies in order, as one transaction.
///
/// A batch lives in memory: nothing is durable before DB::Write returns. Its size is limited by
/// memory for long values, and by the engine's log for everything else.
///
/// Thread safety: const functions may run concurrently with each other.
class WriteBatch {
 public:
  /// Receives the records of a batch; see Iterate.
  class Handler {
   public:
    virtual ~Handler();
    virtual void Put(const Slice& key, const Slice& value) = 0;
    virtual void Delete(const Slice& key) = 0;
  };

  void Put(const Slice& key, const Slice& value);
  void Delete(const Slice& key);
  void Clear() { records_.clear(); }
  void Append(const WriteBatch& source) { records_ += source.records_; }

  /// Returns the batch's size in memory, in bytes. O(1).
  size_t ApproximateSize() const { return records_.size(); }

  /// Calls the handler for each record in order.
  Status Iterate(Handler* handler) const;

 private:
  friend struct WriteBatchContents;
  void append(const Slice& bytes);

  // The records in order. Each is a tag ('p' or 'd'), the key, and for a put the value. Keys and
  // values are stored as a length of 8 bytes and the bytes.
  std::string records_;
};

/// Access to a batch's bytes, for code that stores batches.
struct WriteBatchContents {
  static const std::string& of(const WriteBatch& batch) { return batch.records_; }
  /// Returns false, changing nothing, if the bytes are not a valid batch.
  static bool set(WriteBatch* batch, std::string contents);
};

}  // namespace holdfast::db
