// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "holdfast/db/slice.h"
#include "holdfast/db/whole_words.h"

namespace holdfast::db {

/// Neighbouring entries of a store: what an iterator has read ahead, copied out of the heap or left
/// where it lies. Keeps its memory from one filling to the next; the little that a seek reads fits
/// into the object itself.
class EntryBuffer {
 public:
  struct Entry {
    const char* content;  ///< the key, and from the next whole word on the value, as in a Version
    size_t key_bytes;
    size_t value_bytes;

    Slice key() const { return {content, key_bytes}; }
    Slice value() const { return {content + whole_words(key_bytes), value_bytes}; }
  };

  EntryBuffer() = default;
  EntryBuffer(const EntryBuffer&) = delete;
  EntryBuffer& operator=(const EntryBuffer&) = delete;

  bool empty() const { return begin_ == end_; }
  /// Until something is added.
  const Entry* begin() const { return begin_; }
  const Entry* end() const { return end_; }
  /// Whether p lies in memory that the next filling may change.
  bool owns(const char* p) const {
    return std::less_equal<>()(copies_, p) && std::less<>()(p, copies_ + capacity_);
  }

  /// Whether the walk that filled it came to the store's end.
  bool ended() const { return ended_; }
  void set_ended(bool ended) { ended_ = ended; }

  /// With `in_place`, what is added now may stay where it lies.
  void clear(bool in_place) {
    end_ = begin_;
    used_ = 0;
    in_place_ = in_place;
    ended_ = false;
  }
  bool in_place() const { return in_place_; }

  /// Where up to so many more entries may be stored. They are there after set_end.
  Entry* extend(size_t by) {
    if (static_cast<size_t>(limit_ - end_) < by) [[unlikely]] {
      reserve(by);
    }
    return end_;
  }
  void set_end(Entry* end) { end_ = end; }

  /// Room for a copy of what the next entry has.
  char* room(size_t bytes) {
    const size_t at = used_;
    used_ += whole_words(bytes);
    if (used_ > capacity_) [[unlikely]] {
      reserve_copies(at);
    }
    return copies_ + at;
  }

 private:
  [[gnu::noinline]] void reserve(size_t by) {
    const auto there = static_cast<size_t>(end_ - begin_);
    const size_t larger = std::max(there + by, 2 * static_cast<size_t>(limit_ - begin_));
    auto moved = std::make_unique_for_overwrite<Entry[]>(larger);
    std::copy(begin_, end_, moved.get());
    far_ = std::move(moved);
    begin_ = far_.get();
    end_ = begin_ + there;
    limit_ = begin_ + larger;
  }

  /// Makes room for used_ bytes of copies, of which so many are there.
  [[gnu::noinline]] void reserve_copies(size_t there) {
    const size_t larger = std::max(used_, 2 * capacity_);
    auto moved = std::make_unique_for_overwrite<char[]>(larger);
    std::memcpy(moved.get(), copies_, there);
    for (Entry* entry = begin_; entry != end_; ++entry) {
      if (owns(entry->content)) {
        entry->content = moved.get() + (entry->content - copies_);
      }
    }
    far_copies_ = std::move(moved);
    copies_ = far_copies_.get();
    capacity_ = larger;
  }

  Entry near_[2];
  std::unique_ptr<Entry[]> far_;
  Entry* begin_ = near_;
  Entry* end_ = near_;
  Entry* limit_ = std::end(near_);  ///< of the room from begin_ on

  alignas(8) char near_copies_[448];
  std::unique_ptr<char[]> far_copies_;
  char* copies_ = near_copies_;
  size_t capacity_ = sizeof(near_copies_);
  size_t used_ = 0;

  bool ended_ = false;
  bool in_place_ = false;
};

}  // namespace holdfast::db
