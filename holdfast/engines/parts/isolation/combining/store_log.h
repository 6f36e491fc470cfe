// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// A position in a StoreLog to return to; by default its beginning.
struct LogMark {
  size_t entries = 0;
  size_t words = 0;
  uint64_t bytes = 0;
};

/// A volatile log of stores to a data region: place, length, and old bytes. It tells which ranges
/// to copy or write back at commit, and undoes the stores of a body that throws.
///
/// For one thread at a time. Keeps its memory between transactions, so that logging does not
/// allocate.
template <class M>
class StoreLog {
 public:
  struct Entry {
    uint64_t offset;
    uint64_t bytes;
    uint64_t before;  // up to 8 bytes: the old bytes; more: index in before_ where they start
    uint64_t after;   // whole words: the new value, once remember_words() has run

    bool whole_word() const { return bytes == sizeof(uint64_t) && offset % sizeof(uint64_t) == 0; }
  };

  LogMark end() const { return {count_, words_, bytes_}; }
  /// Bytes stored, over all entries.
  uint64_t bytes() const { return bytes_; }

  /// Call before a store to `n` <= 8 bytes at `offset`, whose old content is `before`.
  void append_word(uint64_t offset, uint64_t n, uint64_t before) {
    if (count_ == room_) [[unlikely]] {
      grow();
    }
    entries_[count_++] = {offset, n, before, 0};
    bytes_ += n;
  }

  /// Call before a store to any n > 0 bytes of `data` at `offset`.
  void append_range(const std::byte* data, uint64_t offset, uint64_t n) {
    if (n <= sizeof(uint64_t)) {
      uint64_t before = 0;
      M::copy(&before, data + offset, n);
      append_word(offset, n, before);
      return;
    }
    // Saved at the same position within a word as in the data, so that copies go word by word.
    const size_t start = words_;
    const size_t shift = offset % sizeof(uint64_t);
    const size_t end = start + (shift + n + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    if (end > before_.size()) [[unlikely]] {
      before_.resize(2 * end);
    }
    words_ = end;
    M::copy(saved(start, shift), data + offset, n);
    append_word(offset, n, start);
  }

  /// Restores the old bytes in `data` of all stores since `mark`, last store first.
  void restore(const LogMark& mark, std::byte* data) {
    for (size_t i = count_; i-- > mark.entries;) {
      const Entry& e = entries_[i];
      if (e.bytes <= sizeof(uint64_t)) {
        M::copy(data + e.offset, &e.before, e.bytes);
      } else {
        M::copy(data + e.offset, saved(e.before, e.offset % sizeof(uint64_t)), e.bytes);
      }
    }
  }

  void truncate(const LogMark& mark) {
    count_ = mark.entries;
    words_ = mark.words;
    bytes_ = mark.bytes;
  }

  /// Keeps the current words of `data`. Reading them again later may be slow, because a
  /// written-back line need not stay in the cache.
  void remember_words(const std::byte* data) {
    for (size_t i = 0; i < count_; ++i) {
      Entry& e = entries_[i];
      if (e.whole_word()) [[likely]] {
        e.after = M::load(reinterpret_cast<const uint64_t*>(data + e.offset));
      }
    }
  }

  /// Copies all logged stores from `from` to `to`, after remember_words(from).
  void copy(std::byte* to, const std::byte* from) const {
    for (size_t i = 0; i < count_; ++i) {
      const Entry& e = entries_[i];
      if (e.whole_word()) [[likely]] {
        M::store(reinterpret_cast<uint64_t*>(to + e.offset), e.after);
      } else {
        M::copy(to + e.offset, from + e.offset, e.bytes);
      }
    }
  }

  /// Frees its memory, after an unusually large transaction.
  void release() { *this = StoreLog(); }

  /// Calls visit(offset, bytes) for every store since `mark`, in order.
  template <class F>
  void for_each(const LogMark& mark, F&& visit) const {
    for (size_t i = mark.entries; i < count_; ++i) {
      visit(entries_[i].offset, entries_[i].bytes);
    }
  }

 private:
  std::byte* saved(size_t start, size_t shift) {
    return reinterpret_cast<std::byte*>(before_.data() + start) + shift;
  }

  // Out of line, so that a store in user code stays short.
  [[gnu::noinline]] void grow() {
    entries_.resize(room_ * 2 + 64);
    room_ = entries_.size();
  }

  std::vector<Entry> entries_;  // the first count_ are in use
  size_t count_ = 0;
  size_t room_ = 0;
  std::vector<uint64_t> before_;  // the first words_ are in use
  size_t words_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace holdfast
