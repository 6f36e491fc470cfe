// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/db/slice.h"
#include "holdfast/db/status.h"

namespace holdfast::db {

class ColumnFamilyHandle;
struct NamedMap;

/// A list of puts and deletes that DB::Write applies in order, as one transaction.
///
/// A batch lives in memory: nothing is durable before DB::Write returns. Its size is limited by
/// memory, and, but for long values, by the log of an engine that bounds transactions.
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

    // Changes of the named map with the number `id` (ColumnFamilyHandle::GetID). A status that is
    // not ok ends Iterate, which returns it. By default that is InvalidArgument for the first two.
    // A batch that a program has filled holds no changes of the other two kinds.
    virtual Status PutCF(uint32_t id, const Slice& key, const Slice& value);
    virtual Status DeleteCF(uint32_t id, const Slice& key);
    /// The map has been created.
    virtual Status CreateCF(uint32_t id, const Slice& name);
    /// The map has been dropped. Later changes delete its entries.
    virtual Status DropCF(uint32_t id);
  };

  void Put(const Slice& key, const Slice& value);
  void Delete(const Slice& key);
  /// Puts and deletes keys of a named map. A null handle stands for the default map.
  void Put(const ColumnFamilyHandle* family, const Slice& key, const Slice& value);
  void Delete(const ColumnFamilyHandle* family, const Slice& key);
  void Clear();
  void Append(const WriteBatch& source);

  /// Returns the batch's size in memory, in bytes. O(1).
  size_t ApproximateSize() const { return records_.size(); }

  /// Calls the handler for each record in order.
  Status Iterate(Handler* handler) const;

 private:
  friend struct WriteBatchContents;
  /// Appends a record. If there is no memory for it, leaves the records alone and throws bad_alloc.
  void append(char tag, std::initializer_list<Slice> parts);
  void need(const std::shared_ptr<NamedMap>& map);

  // The records in order. Each is a tag ('p' or 'd'), the stored key (map_keys.h), and for a put
  // the value. Keys and values are stored as a length of 8 bytes and the bytes.
  std::string records_;
  std::vector<std::shared_ptr<NamedMap>> maps_;  ///< maps that must exist, by their handles
};

/// Access to a batch's bytes, for code that stores batches.
struct WriteBatchContents {
  static const std::string& of(const WriteBatch& batch) { return batch.records_; }
  /// Returns false, changing nothing, if the bytes are not a valid batch. `plain_keys`: the keys
  /// are those of a file without named maps, so they are arbitrary bytes.
  static bool set(WriteBatch* batch, std::string contents, bool plain_keys = false);

  static void put(WriteBatch* batch, const Slice& stored_key, const Slice& value);
  static void erase(WriteBatch* batch, const Slice& stored_key);
  /// Has Write fail if the map does not exist then.
  static void need(WriteBatch* batch, const std::shared_ptr<NamedMap>& map) { batch->need(map); }
  static const std::vector<std::shared_ptr<NamedMap>>& maps(const WriteBatch& batch) {
    return batch.maps_;
  }
  /// Calls see(stored_key, value) for each record in order; of a deletion the value is null. Ends
  /// with the first status that is not ok, and returns it.
  static Status for_each(
      const WriteBatch& batch,
      const std::function<Status(const Slice& stored_key, const Slice* value)>& see);
};

}  // namespace holdfast::db
