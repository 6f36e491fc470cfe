// SPDX-License-Identifier: Apache-2.0
//
// The iterator of a transaction that runs as a body.
#pragma once

#include <algorithm>
#include <string>

#include "holdfast/db/iterator.h"
#include "holdfast/db/store/store.h"
#include "holdfast/db/views/entry_buffer.h"

namespace holdfast::db {

/// Reads the present state inside a body, and holds every range that it reads. So no concurrent
/// transaction can insert a key there.
///
/// Reads ahead like HeapIterator. A write of the body outdates the buffer; the next step then
/// searches from the present key, and reads one entry.
///
/// Errors: a failure is an exception, which ends the body like those of Transaction.
template <class H>
class BodyIterator final : public Iterator {
 public:
  /// `writes` counts the body's writes.
  BodyIterator(Store<H>& store, const uint64_t& writes) : store_(store), writes_(writes) {}

  bool Valid() const override { return entry_ != nullptr; }
  void SeekToFirst() override { seek(Step::first, {}); }
  void SeekToLast() override { seek(Step::last, {}); }
  void Seek(const Slice& target) override { seek(Step::at_or_after, target); }
  void Next() override { move(Step::after); }
  void Prev() override { move(Step::before); }
  Slice key() const override { return entry_->key(); }
  Slice value() const override { return entry_->value(); }
  Status status() const override { return Status::OK(); }

 private:
  static constexpr size_t kFirstAhead = 1024;  ///< bytes
  static constexpr size_t kMostAhead = 16384;

  void seek(Step step, const Slice& from) {
    ahead_ = 0;
    fill(step, from);
  }

  void move(Step step) {
    if (!Valid()) {
      return;
    }
    const bool usable = filled_at_ == writes_ && forwards_ == (step == Step::after);
    if (usable && at_ + 1 != buffer_.end()) {
      entry_ = *++at_;
    } else if (usable && buffer_.ended()) {
      entry_ = nullptr;
    } else {
      ahead_ = usable ? std::min(std::max(kFirstAhead, 2 * ahead_), kMostAhead) : 0;
      fill(step, entry_->key());
    }
  }

  /// Fills the buffer with the entry that `step` leads to from `from`, and entries behind it.
  void fill(Step step, const Slice& from) {
    const std::string origin = from.ToString();  // the buffer may own the bytes
    forwards_ = step != Step::last && step != Step::before;
    store_.read_ahead(step, origin, nullptr, ahead_, &buffer_).check();
    at_ = buffer_.begin();
    entry_ = buffer_.empty() ? nullptr : *at_;
    filled_at_ = writes_;

    KeyRange crossed;
    if (step != Step::first && step != Step::last) {
      (forwards_ ? crossed.first : crossed.last) = origin;
    }
    if (!buffer_.ended()) {
      (forwards_ ? crossed.last : crossed.first) = (*(buffer_.end() - 1))->key().ToString();
    }
    auto hold = [&] { store_.hold_range(crossed, nullptr); };
    store_.heap().read(hold).check();
  }

  Store<H>& store_;
  const uint64_t& writes_;
  uint64_t filled_at_ = 0;  ///< the value of writes_ when the buffer was filled
  bool forwards_ = true;    ///< the buffer's direction
  size_t ahead_ = 0;        ///< limit of the last filling, in bytes
  EntryArray array_;
  EntryBuffer buffer_{array_};
  const PackedEntry* const* at_ = nullptr;
  const PackedEntry* entry_ = nullptr;  ///< *at_; null: at no entry
};

}  // namespace holdfast::db
