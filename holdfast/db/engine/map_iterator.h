// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "holdfast/db/column_family.h"
#include "holdfast/db/iterator.h"

namespace holdfast::db {

/// Shows the entries of one map, from an iterator over all stored keys.
class MapIterator final : public Iterator {
 public:
  /// A null handle stands for the default map.
  MapIterator(std::unique_ptr<Iterator> stored, const ColumnFamilyHandle* family);

  bool Valid() const override { return valid_; }
  void SeekToFirst() override { Seek({}); }
  void SeekToLast() override;
  void Seek(const Slice& target) override;
  void Next() override;
  void Prev() override;
  Slice key() const override {
    const Slice stored = stored_->key();
    return {stored.data() + skipped_, stored.size() - skipped_};
  }
  Slice value() const override { return stored_->value(); }
  Status status() const override { return stored_->status(); }

 private:
  /// Moves to the last stored key before `key`.
  void seek_before(const Slice& key);
  /// Leaves the keys of other maps in the direction of the last step.
  void settle(bool forwards);

  const std::unique_ptr<Iterator> stored_;
  const std::string prefix_;  ///< of the map's stored keys; empty: the default map
  const std::string end_;     ///< behind the map's stored keys
  std::string target_;
  size_t skipped_ = 0;  ///< the first bytes of the present stored key that its key lacks
  bool valid_ = false;
};

}  // namespace holdfast::db
