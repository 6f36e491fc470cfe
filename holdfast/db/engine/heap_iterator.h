// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include "holdfast/db/db.h"
#include "holdfast/db/store/store.h"
#include "holdfast/db/views/entry_buffer.h"

namespace holdfast::db {

struct HeapSnapshot final : Snapshot {
  explicit HeapSnapshot(View* v) : view(v) {}
  View* view;
};

inline const View* view_of(const Snapshot* snapshot) {
  return snapshot == nullptr ? nullptr : static_cast<const HeapSnapshot*>(snapshot)->view;
}

/// Stands in a buffer of entries read ahead. What the view shows never changes, so the buffer stays
/// true whoever writes, and both ways. At its end the next filling is a read transaction that looks
/// for the neighbour of the last key, which may be gone from the tree by then.
///
/// A seek reads one entry, and each further filling in the same direction twice as many bytes, so
/// that a short walk pays for little it does not use.
template <class H>
class HeapIterator final : public Iterator {
 public:
  /// Closes the view at its end.
  HeapIterator(Store<H>& store, const View* view) : store_(store), view_(view) {}
  ~HeapIterator() override { store_.close_view(view_); }

  bool Valid() const override { return entry_ != nullptr; }
  void SeekToFirst() override { seek(Step::first, {}); }
  void SeekToLast() override { seek(Step::last, {}); }
  void Seek(const Slice& target) override { seek(Step::at_or_after, target); }
  void Next() override { forwards_ ? on(Step::after) : back(Step::after); }
  void Prev() override { forwards_ ? back(Step::before) : on(Step::before); }
  Slice key() const override { return entry_->key(); }
  Slice value() const override { return entry_->value(); }
  Status status() const override { return status_; }
  bool NextEntry(Slice* key, Slice* value) override { return Next(), show(key, value); }
  bool PrevEntry(Slice* key, Slice* value) override { return Prev(), show(key, value); }

 private:
  static constexpr size_t kFirstAhead = 1024;  ///< bytes
  static constexpr size_t kMostAhead = 16384;

  void seek(Step step, const Slice& from) {
    ahead_ = 0;
    fill(step, from);
  }

  bool show(Slice* key, Slice* value) const {
    if (entry_ == nullptr) {
      return false;
    }
    *key = entry_->key();
    *value = entry_->value();
    return true;
  }

  /// One further in the order of the buffer.
  void on(Step step) {
    if (at_ != last_) {
      entry_ = *++at_;
    } else if (Valid()) {
      if (buffer_.ended()) {
        entry_ = nullptr;
        return;
      }
      ahead_ = std::min(std::max(kFirstAhead, 2 * ahead_), kMostAhead);
      fill(step, entry_->key());
    }
  }
  /// One against it.
  void back(Step step) {
    if (!Valid()) {
      return;
    }
    if (at_ != buffer_.begin()) {
      entry_ = *--at_;
      return;
    }
    ahead_ = 0;
    fill(step, entry_->key());
  }

  void fill(Step step, Slice from) {
    if (buffer_.owns(from.data())) {
      origin_.assign(from.data(), from.size());
      from = origin_;
    }
    forwards_ = step != Step::last && step != Step::before;
    const auto filled = store_.read_ahead(step, from, view_, ahead_, &buffer_);
    if (!filled.ok()) {
      buffer_.clear(false);
      status_ = translated(filled);
    } else if (!status_.ok()) {
      status_ = Status::OK();
    }
    at_ = buffer_.begin();
    last_ = buffer_.empty() ? at_ : buffer_.end() - 1;
    entry_ = buffer_.empty() ? nullptr : *at_;
  }

  Store<H>& store_;
  const View* const view_;
  const Entry* const* at_ = nullptr;
  const Entry* const* last_ = nullptr;  ///< of the buffer
  const Entry* entry_ = nullptr;        ///< *at_; null: at no entry
  bool forwards_ = true;
  size_t ahead_ = 0;  ///< bytes the last filling was to read beyond its first entry
  EntryRoom own_room_;
  EntryBuffer buffer_{view_->room() != nullptr ? *view_->room() : own_room_};
  std::string origin_;
  Status status_;
};

}  // namespace holdfast::db
