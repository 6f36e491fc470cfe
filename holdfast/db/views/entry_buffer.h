// SPDX-License-Identifier: Apache-2.0
//
// Entries that an iterator has read ahead.
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

/// A key and a value in one range of memory: the lengths, the key, padding to a whole word, the
/// value. The end of a Version has this layout, and so has every copy of an entry.
struct PackedEntry {
  uint64_t value_bytes;
  uint64_t key_bytes;

  const char* content() const { return reinterpret_cast<const char*>(this + 1); }
  Slice key() const { return {content(), key_bytes}; }
  Slice value() const { return {content() + whole_words(key_bytes), value_bytes}; }
};

/// An array of entry pointers that outlives the EntryBuffer that uses it, so that the next buffer
/// can reuse it. Memory that has never been touched is expensive: the first access to a page costs
/// as much as a hundred steps of a walk.
struct EntryArray {
  std::unique_ptr<const PackedEntry*[]> entries;
  size_t size = 0;
};

/// Neighbouring entries of a store, which an iterator has read ahead. The buffer holds a pointer
/// for each entry, into the heap or to a copy.
///
/// The buffer keeps its memory from one filling to the next. The few entries that a seek or a short
/// walk reads fit into the object itself.
///
/// Thread safety: one thread at a time.
class EntryBuffer {
 public:
  /// No other buffer may use `array` during this buffer's lifetime.
  explicit EntryBuffer(EntryArray& array) : array_(array) {}
  EntryBuffer(const EntryBuffer&) = delete;
  EntryBuffer& operator=(const EntryBuffer&) = delete;

  bool empty() const { return begin_ == end_; }
  /// begin() and end() are valid until an entry is added.
  const PackedEntry* const* begin() const { return begin_; }
  const PackedEntry* const* end() const { return end_; }
  /// Returns whether p points to one of the buffer's copies, which the next filling may overwrite.
  bool owns(const void* p) const {
    return std::less_equal<const void*>()(copies_, p) &&
           std::less<const void*>()(p, copies_ + capacity_);
  }

  /// Returns whether the walk that filled the buffer reached the store's end.
  bool ended() const { return ended_; }
  void set_ended(bool ended) { ended_ = ended; }

  /// Removes all entries. With `in_place`, entries added from now on may point into the heap.
  void clear(bool in_place) {
    end_ = begin_;
    used_ = 0;
    in_place_ = in_place;
    ended_ = false;
  }
  bool in_place() const { return in_place_; }

  /// Returns where the caller may store up to `by` more pointers. set_end then adds those stored.
  const PackedEntry** extend(size_t by) {
    if (static_cast<size_t>(limit_ - end_) < by) [[unlikely]] {
      reserve(by);
    }
    return end_;
  }
  void set_end(const PackedEntry** end) { end_ = end; }

  /// Returns memory for a copy with `bytes` bytes behind its lengths.
  PackedEntry* allocate_copy(size_t bytes) {
    const size_t at = used_;
    used_ += sizeof(PackedEntry) + whole_words(bytes);
    if (used_ > capacity_) [[unlikely]] {
      reserve_copies(at);
    }
    return reinterpret_cast<PackedEntry*>(copies_ + at);
  }

 private:
  /// The array grows at once to its largest usual size: 512 entries, and the rest of the last leaf.
  static constexpr size_t kGrowth = 17;

  [[gnu::noinline]] void reserve(size_t by) {
    const auto there = static_cast<size_t>(end_ - begin_);
    EntryArray larger;
    if (begin_ == own_entries_ && there + by <= array_.size) {
      std::swap(larger, array_);
    } else {
      larger.size = std::max(there + by, kGrowth * static_cast<size_t>(limit_ - begin_));
      larger.entries = std::make_unique_for_overwrite<const PackedEntry*[]>(larger.size);
    }
    std::copy(begin_, end_, larger.entries.get());
    array_ = std::move(larger);
    begin_ = array_.entries.get();
    end_ = begin_ + there;
    limit_ = begin_ + array_.size;
  }

  /// Makes room for used_ bytes of copies. The first `there` bytes are in use and move along.
  [[gnu::noinline]] void reserve_copies(size_t there) {
    const size_t larger = std::max(used_, 2 * capacity_);
    auto moved = std::make_unique_for_overwrite<char[]>(larger);
    std::memcpy(moved.get(), copies_, there);
    for (const PackedEntry** entry = begin_; entry != end_; ++entry) {
      if (owns(*entry)) {
        *entry = reinterpret_cast<const PackedEntry*>(
            moved.get() + (reinterpret_cast<const char*>(*entry) - copies_));
      }
    }
    more_copies_ = std::move(moved);
    copies_ = more_copies_.get();
    capacity_ = larger;
  }

  EntryArray& array_;
  const PackedEntry* own_entries_[32];
  const PackedEntry** begin_ = own_entries_;
  const PackedEntry** end_ = own_entries_;
  const PackedEntry** limit_ = std::end(own_entries_);  ///< the end of the array at begin_

  alignas(PackedEntry) char own_copies_[448];
  std::unique_ptr<char[]> more_copies_;
  char* copies_ = own_copies_;
  size_t capacity_ = sizeof(own_copies_);
  size_t used_ = 0;

  bool ended_ = false;
  bool in_place_ = false;
};

}  // namespace holdfast::db
