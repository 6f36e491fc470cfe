// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/db/heap_db.h"

namespace holdfast::db {

struct HeapSnapshot final : Snapshot {
  explicit HeapSnapshot(View* v) : view(v) {}
  View* view;
};

inline const View* view_of(const Snapshot* snapshot) {
  return snapshot == nullptr ? nullptr : static_cast<const HeapSnapshot*>(snapshot)->view;
}

/// Copies one entry at a time. Each step is a read transaction that looks for the neighbour of the
/// key it stands at, which may be gone from the tree by then.
class HeapIterator final : public Iterator {
 public:
  /// With `owned`, closes the view at its end.
  HeapIterator(Store<HeapDB::H>& store, const View* view, bool owned)
      : store_(store), view_(view), owned_(owned) {}
  ~HeapIterator() override {
    if (owned_) {
      store_.close_view(view_);
    }
  }

  bool Valid() const override { return valid_; }
  void SeekToFirst() override { go(Step::first, {}); }
  void SeekToLast() override { go(Step::last, {}); }
  void Seek(const Slice& target) override { go(Step::at_or_after, target); }
  void Next() override { go(Step::after, key_); }
  void Prev() override { go(Step::before, key_); }
  Slice key() const override { return key_; }
  Slice value() const override { return value_; }
  Status status() const override { return status_; }

 private:
  void go(Step step, const Slice& from) {
    auto found = store_.step(step, from, view_, &key_, &value_);
    status_ = translated(found.status());
    valid_ = found.ok() && *found;
  }

  Store<HeapDB::H>& store_;
  const View* view_;
  bool owned_;
  bool valid_ = false;
  std::string key_;
  std::string value_;
  Status status_;
};

}  // namespace holdfast::db
