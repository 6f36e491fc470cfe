// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/db/comparator.h"
#include "holdfast/db/engine/key_space.h"
#include "holdfast/db/engine/map_iterator.h"
#include "holdfast/db/transaction.h"

namespace holdfast::db {

/// A transaction over all maps, by operations on stored keys, which a derived class has. Base is
/// Transaction or OptimisticTransaction.
template <class Base>
class MappedTransaction : public Base {
 public:
  MappedTransaction(KeySpace& keys, const Comparator* comparator)
      : keys_(keys), comparator_(comparator) {}

  Status Get(const Slice& key, std::string* value) override {
    std::string buffer;
    return get_stored(keys_.stored(key, &buffer), value);
  }
  void Put(const Slice& key, const Slice& value) override { Put(nullptr, key, value); }
  void Delete(const Slice& key) override { Delete(nullptr, key); }
  Status DeleteRange(const Slice& begin, const Slice& end) override {
    return DeleteRange(nullptr, begin, end);
  }
  Iterator* NewIterator() override { return NewIterator(nullptr); }

  Status Get(const ColumnFamilyHandle* family, const Slice& key, std::string* value) override {
    if (Status status = keys_.readable(family, false); !status.ok()) {
      return status;
    }
    std::string buffer;
    return get_stored(keys_.stored(family, key, &buffer), value);
  }
  void Put(const ColumnFamilyHandle* family, const Slice& key, const Slice& value) override {
    write(family, key, &value);
  }
  void Delete(const ColumnFamilyHandle* family, const Slice& key) override {
    write(family, key, nullptr);
  }
  Status DeleteRange(const ColumnFamilyHandle* family, const Slice& begin,
                     const Slice& end) override {
    if (Status status = prepare_write(family); !status.ok()) {
      return status;
    }
    std::vector<std::string> found;
    const std::unique_ptr<Iterator> at(NewIterator(family));
    for (at->Seek(begin); at->Valid() && comparator_->Compare(at->key(), end) < 0; at->Next()) {
      found.push_back(at->key().ToString());
    }
    if (Status status = at->status(); !status.ok()) {
      return status;
    }
    for (const std::string& key : found) {
      Delete(family, key);
    }
    return Status::OK();
  }
  Iterator* NewIterator(const ColumnFamilyHandle* family) override {
    if (Status status = keys_.readable(family, false); !status.ok()) {
      return NewErrorIterator(status);
    }
    std::unique_ptr<Iterator> stored(iterate_stored(family));
    return keys_.plain() ? stored.release() : new MapIterator(std::move(stored), family);
  }

 private:
  virtual Status get_stored(const Slice& key, std::string* value) = 0;
  /// Puts the value; a null one deletes the key.
  virtual void write_stored(const Slice& key, const Slice* value) = 0;
  /// Returns an iterator over the stored keys. The caller looks only at those of this map.
  virtual Iterator* iterate_stored(const ColumnFamilyHandle* family) = 0;
  /// Has the commit fail unless the map exists then.
  virtual void need(const std::shared_ptr<NamedMap>& map) = 0;
  /// Has the transaction fail with this status.
  virtual void refuse(Status status) = 0;

  /// Has the transaction fail if the handle is not good for writing, or will not be at the commit.
  /// Returns ok if it is good now.
  Status prepare_write(const ColumnFamilyHandle* family) {
    Status status = keys_.readable(family, false);
    if (!status.ok()) {
      refuse(status);
    } else if (!KeySpace::is_default(family)) {
      need(family->map());
    }
    return status;
  }
  void write(const ColumnFamilyHandle* family, const Slice& key, const Slice* value) {
    if (!prepare_write(family).ok()) {
      return;
    }
    std::string buffer;
    const Slice stored = keys_.stored(family, key, &buffer);
    keys_.note_write(stored);
    write_stored(stored, value);
  }

  KeySpace& keys_;
  const Comparator* comparator_;
};

}  // namespace holdfast::db
