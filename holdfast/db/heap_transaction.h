// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "holdfast/db/heap_db.h"

namespace holdfast::db {

/// Reads through a view and remembers the stamps it met. A key is as it was when the stamp of its
/// newest version is: stamps are never used twice.
class HeapTransaction final : public OptimisticTransaction {
 public:
  HeapTransaction(Store<HeapDB::H>& store, const View* view) : store_(store), view_(view) {}
  ~HeapTransaction() override { store_.close_view(view_); }

  Status Get(const Slice& key, std::string* value) override;
  void Put(const Slice& key, const Slice& value) override;
  void Delete(const Slice& key) override;
  Status Commit(bool* committed) override;

 private:
  struct Written {
    bool deletion;
    std::string value;
  };
  /// In the database's order, which alone says whether two keys are the same.
  struct Less {
    const Comparator* comparator;
    bool operator()(const std::string& a, const std::string& b) const {
      return comparator->Compare(a, b) < 0;
    }
  };

  Store<HeapDB::H>& store_;
  const View* view_;
  std::map<std::string, Written, Less> writes_{Less{store_.comparator()}};
  std::map<std::string, uint64_t, Less> reads_{Less{store_.comparator()}};  ///< stamps; 0: no value
};

}  // namespace holdfast::db
