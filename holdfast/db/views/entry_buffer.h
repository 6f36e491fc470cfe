// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "holdfast/db/slice.h"
#include "holdfast/db/views/whole_words.h"

namespace holdfast::db {

/// An entry as the end of a Version has it, and every copy. The key's bytes follow, and from the
/// next whole word on those of the value.
struct Entry {
  uint64_t value_bytes;
  uint64_t key_bytes;

  const char* content() const { return reinterpret_cast<const char*>(this + 1); }
  Slice key() const { return {content(), key_bytes}; }
  Slice value() const { return {content() + whole_words(key_bytes), value_bytes}; }
};

/// Memory that outlives the buffer which uses it, for the next one. A page that nobody has touched
/// yet costs as much as a hundred steps of a walk.
struct EntryRoom {
  std::unique_ptr<const Entry*[]> entries;
  size_t size = 0;
};

/// Neighbouring entries of a store: what an iterator has read ahead, copied out of the heap or left
/// where it lies. Keeps its memory from one filling to the next; the little that a seek or a short
/// walk reads fits into the object itself.
class EntryBuffer {
 public:
  /// `room` is nobody else's meanwhile.
  explicit EntryBuffer(EntryRoom& room) : room_(room) {}
  EntryBuffer(const EntryBuffer&) = delete;
  EntryBuffer& operator=(const EntryBuffer&) = delete;

  bool empty() const { return begin_ == end_; }
  /// Until something is added.
  const Entry* const* begin() const { return begin_; }
  const Entry* const* end() const { return end_; }
  /// Whether p lies in memory that the next filling may change.
  bool owns(const void* p) const {
    return std::less_equal<const void*>()(copies_, p) &&
           std::less<const void*>()(p, copies_ + capacity_);
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

  /// Where up to so many more entries may be named. They are there after set_end.
  const Entry** extend(size_t by) {
    if (static_cast<size_t>(limit_ - end_) < by) [[unlikely]] {
      reserve(by);
    }
    return end_;
  }
  void set_end(const Entry** end) { end_ = end; }

  /// Room for a copy with so many bytes behind its lengths.
  Entry* room(size_t bytes) {
    const size_t at = used_;
    used_ += sizeof(Entry) + whole_words(bytes);
    if (used_ > capacity_) [[unlikely]] {
      reserve_copies(at);
    }
    return reinterpret_cast<Entry*>(copies_ + at);
  }

 private:
  /// A long walk soon reads as much ahead as any does: 512 entries, and some of a last leaf.
  static constexpr size_t kGrowth = 17;

  [[gnu::noinline]] void reserve(size_t by) {
    const auto there = static_cast<size_t>(end_ - begin_);
    EntryRoom larger;
    if (begin_ == near_ && there + by <= room_.size) {
      std::swap(larger, room_);
    } else {
      larger.size = std::max(there + by, kGrowth * static_cast<size_t>(limit_ - begin_));
      larger.entries = std::make_unique_for_overwrite<const Entry*[]>(larger.size);
    }
    std::copy(begin_, end_, larger.entries.get());
    room_ = std::move(larger);
    begin_ = room_.entries.get();
    end_ = begin_ + there;
    limit_ = begin_ + room_.size;
  }

  /// Makes room for used_ bytes of copies, of which so many are there.
  [[gnu::noinline]] void reserve_copies(size_t there) {
    const size_t larger = std::max(used_, 2 * capacity_);
    auto moved = std::make_unique_for_overwrite<char[]>(larger);
    std::memcpy(moved.get(), copies_, there);
    for (const Entry** entry = begin_; entry != end_; ++entry) {
      if (owns(*entry)) {
        *entry = reinterpret_cast<const Entry*>(moved.get() +
                                                (reinterpret_cast<const char*>(*entry) - copies_));
      }
    }
    far_copies_ = std::move(moved);
    copies_ = far_copies_.get();
    capacity_ = larger;
  }

  EntryRoom& room_;
  const Entry* near_[32];
  const Entry** begin_ = near_;
  const Entry** end_ = near_;
  const Entry** limit_ = std::end(near_);  ///< of the room from begin_ on

  alignas(Entry) char near_copies_[448];
  std::unique_ptr<char[]> far_copies_;
  char* copies_ = near_copies_;
  size_t capacity_ = sizeof(near_copies_);
  size_t used_ = 0;

  bool ended_ = false;
  bool in_place_ = false;
};

}  // namespace holdfast::db
