// SPDX-License-Identifier: Apache-2.0
//
// Iterators and snapshots over a store.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "holdfast/db/db.h"
#include "holdfast/db/engine/snapshot_ages.h"
#include "holdfast/db/store/held_view.h"
#include "holdfast/db/store/store.h"
#include "holdfast/db/views/entry_buffer.h"

namespace holdfast::db {

/// A snapshot is a view that stays open.
template <class H>
struct HeapSnapshot final : Snapshot {
  HeapSnapshot(HeldView<H> held, SnapshotAges& all)
      : view(std::move(held)), ages(all), opened(all.open()) {}
  ~HeapSnapshot() override { ages.close(opened); }

  const HeldView<H> view;
  SnapshotAges& ages;
  const SnapshotAges::Time opened;
};

template <class H>
const typename Store<H>::View* view_of(const Snapshot* snapshot) {
  return snapshot == nullptr ? nullptr : static_cast<const HeapSnapshot<H>*>(snapshot)->view.get();
}

/// Moves in a buffer of entries that were read ahead.
///
/// A view never changes, so the buffer stays valid in both directions while other threads write. At
/// the buffer's end the iterator fills it again in one read transaction. The transaction searches
/// for the neighbour of the last key, because that key may have left the tree by then.
///
/// A seek reads one entry. The next filling in the same direction reads kFirstAhead bytes, and each
/// further one twice as many, up to kMostAhead. So a short walk reads little that it does not use.
template <class H>
class HeapIterator final : public Iterator {
 public:
  /// `guard`: as for Store::get().
  HeapIterator(Store<H>& store, HeldView<H> view, std::unique_ptr<PageGuard> guard = nullptr)
      : store_(store), view_(std::move(view)), guard_(std::move(guard)) {}

  bool Valid() const override { return entry_ != nullptr; }
  void SeekToFirst() override { seek(Step::first, {}); }
  void SeekToLast() override { seek(Step::last, {}); }
  void Seek(const Slice& target) override { seek(Step::at_or_after, target); }
  void Next() override { forwards_ ? step_along(Step::after) : step_against(Step::after); }
  void Prev() override { forwards_ ? step_against(Step::before) : step_along(Step::before); }
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

  /// Moves one entry in the buffer's direction.
  void step_along(Step step) {
    if (is_lost()) [[unlikely]] {
      return;
    }
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
  /// Moves one entry against the buffer's direction. At the buffer's beginning reads one entry.
  void step_against(Step step) {
    if (!Valid() || is_lost()) {
      return;
    }
    if (at_ != buffer_.begin()) {
      entry_ = *--at_;
      return;
    }
    ahead_ = 0;
    fill(step, entry_->key());
  }

  /// Ends the iterator in a forked child, which may not look at entries: the heap is not mapped
  /// there.
  bool is_lost() {
    if (!store_.forked_child()) [[likely]] {
      return false;
    }
    at_ = last_ = nullptr;
    entry_ = nullptr;
    status_ = translated(store_.check_process());
    return true;
  }

  /// Fills the buffer with the entry that `step` leads to from `from`, and entries behind it.
  void fill(Step step, Slice from) {
    if (buffer_.owns(from.data())) {
      origin_.assign(from.data(), from.size());
      from = origin_;
    }
    forwards_ = step != Step::last && step != Step::before;
    const auto filled = store_.read_ahead(step, from, view_.get(), ahead_, &buffer_, guard_.get());
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
  const HeldView<H> view_;  ///< outlives buffer_, which may use its array
  const std::unique_ptr<PageGuard> guard_;
  const PackedEntry* const* at_ = nullptr;
  const PackedEntry* const* last_ = nullptr;  ///< the last one in the buffer
  const PackedEntry* entry_ = nullptr;        ///< *at_; null: at no entry
  bool forwards_ = true;                      ///< the buffer's direction
  size_t ahead_ = 0;                          ///< limit of the last filling, in bytes
  EntryArray own_array_;                      ///< for a view that has none
  EntryBuffer buffer_{view_->entry_array() != nullptr ? *view_->entry_array() : own_array_};
  std::string origin_;  ///< a copy of the key from which a filling starts
  Status status_;
};

}  // namespace holdfast::db
