// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "holdfast/db/slice.h"
#include "holdfast/db/status.h"

namespace holdfast::db {

/// Puts and deletes to be applied together, in order, by DB::Write: all of them or none.
///
/// Thread safety: const functions may run beside each other.
class WriteBatch {
 public:
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

  /// Bytes the batch takes in memory; O(1).
  size_t ApproximateSize() const { return records_.size(); }

  /// Calls the handler for each record in order.
  Status Iterate(Handler* handler) const;

 private:
  friend struct WriteBatchContents;
  void append(const Slice& bytes);

  // One record after the other: a tag, then key (and value), each as its length in 8 bytes and its
  // bytes.
  std::string records_;
};

/// A batch as bytes, for who keeps it.
struct WriteBatchContents {
  static const std::string& of(const WriteBatch& batch) { return batch.records_; }
  /// False, and nothing changed, where the bytes are no batch.
  static bool set(WriteBatch* batch, std::string contents);
};

}  // namespace holdfast::db
