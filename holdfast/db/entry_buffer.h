// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "holdfast/db/slice.h"
#include "holdfast/db/whole_words.h"

namespace holdfast::db {

/// Neighbouring entries of a store: what an iterator has read ahead, copied out of the heap or left
/// where it lies. Each is known by its place, a number of bytes; end() is that of none. Keeps its
/// memory from one filling to the next; the little that a seek reads fits into the object itself.
class EntryBuffer {
  struct Header {
    size_t before;  ///< place of the entry before this one
    size_t key_bytes;
    size_t value_bytes;
    const char* in_place;  ///< key and value; null: they follow
  };

 public:
  EntryBuffer() = default;
  EntryBuffer(const EntryBuffer&) = delete;
  EntryBuffer& operator=(const EntryBuffer&) = delete;

  bool empty() const { return end_ == 0; }
  size_t end() const { return end_; }
  size_t last() const { return last_; }
  size_t next(size_t at) const { return at + bytes_of(header(at)); }
  /// Of any entry but the first, whose place is 0.
  size_t before(size_t at) const { return header(at).before; }

  Slice key(size_t at) const { return {content(at), header(at).key_bytes}; }
  Slice value(size_t at) const {
    const Header& h = header(at);
    return {content(at) + whole_words(h.key_bytes), h.value_bytes};
  }
  /// Whether p lies in memory that the next filling may change.
  bool owns(const char* p) const {
    return std::less_equal<>()(bytes_, p) && std::less<>()(p, bytes_ + capacity_);
  }

  /// Whether the walk that filled it came to the store's end.
  bool ended() const { return ended_; }
  void set_ended(bool ended) { ended_ = ended; }

  /// With `in_place`, what is added now may stay where it lies.
  void clear(bool in_place) {
    in_place_ = in_place;
    last_ = 0;
    end_ = 0;
    ended_ = false;
  }

  bool in_place() const { return in_place_; }

  struct Room {
    char* key;
    char* value;  ///< whole_words() of the key behind it, as in a Version
  };
  /// For a copy of one more entry; the pointers hold until the next one.
  Room add(size_t key_bytes, size_t value_bytes) {
    append(key_bytes, value_bytes, nullptr);
    char* const key = bytes_ + last_ + sizeof(Header);
    return {key, key + whole_words(key_bytes)};
  }
  /// One more entry, whose bytes stay where they are, laid out as in a Version.
  void add_in_place(const char* key, size_t key_bytes, size_t value_bytes) {
    append(key_bytes, value_bytes, key);
  }

 private:
  static size_t bytes_of(const Header& h) {
    return sizeof(Header) +
           (h.in_place != nullptr ? 0 : whole_words(h.key_bytes) + whole_words(h.value_bytes));
  }
  const Header& header(size_t at) const { return *reinterpret_cast<const Header*>(bytes_ + at); }
  const char* content(size_t at) const {
    const char* const in_place = header(at).in_place;
    return in_place != nullptr ? in_place : bytes_ + at + sizeof(Header);
  }

  void append(size_t key_bytes, size_t value_bytes, const char* in_place) {
    const Header added{last_, key_bytes, value_bytes, in_place};
    const size_t end = end_ + bytes_of(added);
    if (end > capacity_) [[unlikely]] {
      reserve(end);
    }
    last_ = end_;
    new (bytes_ + last_) Header(added);
    end_ = end;
  }

  [[gnu::noinline]] void reserve(size_t bytes) {
    const size_t larger = bytes > 2 * capacity_ ? bytes : 2 * capacity_;
    auto moved = std::make_unique_for_overwrite<char[]>(larger);
    std::memcpy(moved.get(), bytes_, end_);
    far_ = std::move(moved);
    bytes_ = far_.get();
    capacity_ = larger;
  }

  alignas(Header) char near_[512];
  std::unique_ptr<char[]> far_;
  char* bytes_ = near_;
  size_t capacity_ = sizeof(near_);
  size_t last_ = 0;  ///< place of the last entry
  size_t end_ = 0;
  bool ended_ = false;
  bool in_place_ = false;
};

}  // namespace holdfast::db
