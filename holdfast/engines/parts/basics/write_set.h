// SPDX-License-Identifier: Apache-2.0
//
// The stores of a software transaction that it has not published yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "holdfast/machine/types.h"

namespace holdfast {

/// A map from words of memory to their values after the transaction, in the order of the first
/// stores. Shorter stores are kept with a mask and merged, so that each word has one entry.
///
/// For one thread. Keeps its memory between transactions; clear() takes constant time.
class WriteSet {
 public:
  struct Entry {
    uint64_t* word;   ///< aligned
    uint64_t value;   ///< bytes outside the mask are 0
    uint64_t mask;    ///< 0xff for every byte stored
    uint64_t engine;  ///< for the engine's use; 0 at first

    /// The word's value after the transaction, given its value `before`.
    uint64_t over(uint64_t before) const { return (before & ~mask) | value; }
    bool whole() const { return ~mask == 0; }
  };

  WriteSet() : slots_(kFirstSlots) {}

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }

  void clear() {
    entries_.clear();
    if (++generation_ == 0) {  // once in 2^32 transactions
      slots_.assign(slots_.size(), Slot());
      generation_ = 1;
    }
  }

  /// Clears it and frees its memory, after an unusually large transaction.
  void release() { *this = WriteSet(); }

  /// The entry of an aligned word, or null.
  Entry* find(const void* word) {
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash(word) & mask; slots_[at].generation == generation_;
         at = (at + 1) & mask) {
      Entry& entry = entries_[slots_[at].entry];
      if (entry.word == word) {
        return &entry;
      }
    }
    return nullptr;
  }

  /// Notes a store to an aligned word of the bytes of `value` selected by `mask`. The other bytes
  /// of `value` are 0.
  Entry& put(uint64_t* word, uint64_t value, uint64_t mask) {
    if (Entry* known = find(word)) {
      known->value = (known->value & ~mask) | value;
      known->mask |= mask;
      return *known;
    }
    if (2 * (entries_.size() + 1) > slots_.size()) {
      grow();
    }
    entries_.push_back({word, value, mask, 0});
    insert(entries_.size() - 1);
    return entries_.back();
  }

 private:
  static constexpr size_t kFirstSlots = 64;  // a power of two
  struct Slot {
    uint32_t generation = 0;  // 0: never used
    uint32_t entry = 0;
  };

  static size_t hash(const void* word) {
    const auto bits = reinterpret_cast<uintptr_t>(word) >> 3;
    return static_cast<size_t>((bits * 0x9e3779b97f4a7c15) >> 32);
  }

  void insert(size_t entry) {
    const size_t mask = slots_.size() - 1;
    size_t at = hash(entries_[entry].word) & mask;
    while (slots_[at].generation == generation_) {
      at = (at + 1) & mask;
    }
    slots_[at] = {generation_, static_cast<uint32_t>(entry)};
  }

  // Out of line, so that a store in user code stays short.
  [[gnu::noinline]] void grow() {
    slots_.assign(slots_.size() * 2, Slot());
    generation_ = 1;
    for (size_t entry = 0; entry < entries_.size(); ++entry) {
      insert(entry);
    }
  }

  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // half empty at least; probed linearly
  uint32_t generation_ = 1;
};

/// Calls f(word, shift, bytes, mask) for each aligned word under [p, p + n). The range covers
/// `bytes` of the word, from byte `shift` on; `mask` has 0xff for each of them.
template <class F>
void for_each_word(const void* p, size_t n, F&& f) {
  auto at = reinterpret_cast<uintptr_t>(p);
  const uintptr_t end = at + n;
  while (at < end) {
    const uintptr_t word = at & ~uintptr_t{7};
    const size_t shift = at - word;
    const size_t bytes = (end - word < 8 ? end - word : 8) - shift;
    const uint64_t mask = (bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1) << 8 * shift;
    f(reinterpret_cast<uint64_t*>(word), shift, bytes, mask);
    at = word + 8;
  }
}

/// Calls f(word, bits, mask) for a value stored at p, in the form that WriteSet::put takes.
template <Word T, class F>
void as_word(T* p, T value, F&& f) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  const auto address = reinterpret_cast<uintptr_t>(p);
  const size_t shift = address % 8;
  const uint64_t mask = (~uint64_t{0} >> (64 - 8 * sizeof(T))) << 8 * shift;
  f(reinterpret_cast<uint64_t*>(address - shift), bits << 8 * shift, mask);
}

/// Calls f as as_word() does, for each word of [to, to + n), which receives the bytes at `from`.
template <class F>
void as_words(void* to, const void* from, size_t n, F&& f) {
  const auto* in = static_cast<const std::byte*>(from);
  for_each_word(to, n, [&](uint64_t* word, size_t shift, size_t bytes, uint64_t mask) {
    uint64_t bits = 0;
    std::memcpy(reinterpret_cast<std::byte*>(&bits) + shift, in, bytes);
    f(word, bits, mask);
    in += bytes;
  });
}

}  // namespace holdfast
