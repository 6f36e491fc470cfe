// SPDX-License-Identifier: Apache-2.0
//
// The private bookkeeping of a software transaction: its write set and its read set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/native/htm/soft_table.h"

namespace holdfast::native {

/// A map from numbers of lines or entries to small indices. clear() takes constant time: a slot
/// counts only if it carries the current epoch. Open addressing, at most half full.
class SoftMap {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  SoftMap() : slots_(kInitial) {}

  uint32_t find(uint64_t key) const {
    for (size_t i = start(key);; i = (i + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[i];
      if (slot.epoch != epoch_) {
        return kNone;
      }
      if (slot.key == key) {
        return slot.value;
      }
    }
  }

  /// The map must not have the key yet.
  void insert(uint64_t key, uint32_t value);
  void clear();

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t epoch = 0;
    uint32_t value = 0;
  };
  static constexpr size_t kInitial = 64;

  // The multiplier is 2^64 divided by the golden ratio (Knuth 6.4); it spreads neighbouring keys.
  size_t start(uint64_t key) const {
    return ((key * 0x9e3779b97f4a7c15ULL) >> 32) & (slots_.size() - 1);
  }
  void place(uint64_t key, uint32_t value);
  void grow();

  std::vector<Slot> slots_;
  size_t used_ = 0;
  uint32_t epoch_ = 1;
};

/// The stores of a transaction to one line: the bytes, and a bit for each byte that was stored.
struct alignas(kLineBytes) SoftLine {
  std::byte data[kLineBytes];
  uintptr_t line = 0;
  uint64_t mask = 0;

  static uint64_t bits(size_t offset, size_t n) {
    return (n == kLineBytes ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << offset;
  }
  bool covers(size_t offset, size_t n) const { return (~mask & bits(offset, n)) == 0; }

  void put(size_t offset, const void* from, size_t n) {
    __builtin_memcpy(data + offset, from, n);
    mask |= bits(offset, n);
  }
  /// `to` holds the line's n bytes from `offset` on, as they are in memory. Replaces the bytes that
  /// the transaction has stored.
  void overlay(void* to, size_t offset, size_t n) const;
  /// Stores the bytes to memory, in the largest aligned units that were stored whole. So a word
  /// that was stored in one piece becomes visible in one piece.
  void publish() const;
};

/// Buffered lines by line number.
class SoftWriteSet {
 public:
  SoftLine* find(uintptr_t line) {
    const uint32_t i = map_.find(line);
    return i == SoftMap::kNone ? nullptr : &lines_[i];
  }
  /// The set must not have the line yet. Invalidates pointers to other lines.
  SoftLine* add(uintptr_t line);
  const std::vector<SoftLine>& lines() const { return lines_; }
  void clear();

 private:
  SoftMap map_;
  std::vector<SoftLine> lines_;
};

/// The entries of the lines that a tracked transaction has loaded, each with the version seen.
class SoftReadSet {
 public:
  struct Record {
    uint32_t entry;
    uint64_t version;
  };

  bool contains(uint32_t entry) {
    if (entry == last_) {
      return true;
    }
    const bool found = map_.find(entry) != SoftMap::kNone;
    last_ = found ? entry : last_;
    return found;
  }
  void add(uint32_t entry, uint64_t version);
  const std::vector<Record>& records() const { return records_; }
  void clear();

 private:
  SoftMap map_;
  std::vector<Record> records_;
  uint32_t last_ = SoftMap::kNone;
};

}  // namespace holdfast::native
