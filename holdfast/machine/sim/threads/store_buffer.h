// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/sim/support/masked_word.h"

namespace holdfast::sim {

/// The kinds of entries of a store buffer.
enum class EntryKind : uint8_t {
  store,
  transactional,  ///< takes ownership of its line when it leaves
  write_back,     ///< covers the stores that are visible in its line when it leaves
  tx_begin,       ///< marks the beginning of a transaction of the hardware design
  tx_commit,      ///< marks its commit
  nontemporal,    ///< bypasses the caches
};

/// True for a store that needs its line in the core's L1.
inline bool is_store(EntryKind kind) {
  return kind <= EntryKind::transactional;
}

struct Entry {
  MaskedWord word;  ///< a write_back uses only the address
  EntryKind kind = EntryKind::store;
  uint64_t leave = 0;    ///< timed: the time from which on it may leave
  bool retried = false;  ///< timed: its line was taken away once before
};

/// The stores of one thread that other threads do not see yet. They leave in order (total store
/// order), and the thread's own loads see them.
class StoreBuffer {
 public:
  explicit StoreBuffer(size_t capacity)
      : capacity_(capacity < 1 ? 1 : capacity), mask_(std::bit_ceil(capacity_) - 1) {}

  bool empty() const { return head_ == tail_; }
  bool full() const { return size() == capacity_; }
  size_t size() const { return tail_ - head_; }

  void push(const Entry& entry) {
    if (ring_.empty()) [[unlikely]] {
      ring_.resize(mask_ + 1);  // most threads of the machines of a crash search never store
    }
    ring_[tail_++ & mask_] = entry;
    ++filter_[bucket(entry.word.address)];
  }

  const Entry& front() const { return ring_[head_ & mask_]; }
  Entry& front() { return ring_[head_ & mask_]; }
  const Entry& back() const { return ring_[(tail_ - 1) & mask_]; }
  void pop() { --filter_[bucket(ring_[head_++ & mask_].word.address)]; }

  /// The word at `address`, whose visible value is `value`, as the buffer's thread sees it.
  uint64_t forward(uintptr_t address, uint64_t value) const {
    if (filter_[bucket(address)] == 0) {
      return value;
    }
    for (size_t i = head_; i != tail_; ++i) {
      const Entry& entry = ring_[i & mask_];
      if (entry.word.address == address && entry.kind != EntryKind::write_back) {
        value = entry.word.over(value);
      }
    }
    return value;
  }

  /// True if all these bytes of the word come from one entry.
  bool covers(uintptr_t address, uint64_t mask) const {
    if (filter_[bucket(address)] == 0) {
      return false;
    }
    for (size_t i = tail_; i != head_; --i) {
      const Entry& entry = ring_[(i - 1) & mask_];
      if (entry.word.address == address && entry.kind != EntryKind::write_back) {
        return (mask & ~entry.word.mask) == 0;
      }
    }
    return false;
  }

  /// Drops the stores of an aborted transaction. Other stores, made before it or while it was
  /// suspended, stay in order.
  void drop_transactional() {
    const size_t end = tail_;
    tail_ = head_;
    for (size_t i = head_; i != end; ++i) {
      const Entry entry = ring_[i & mask_];
      if (entry.kind == EntryKind::transactional) {
        --filter_[bucket(entry.word.address)];
      } else {
        ring_[tail_++ & mask_] = entry;
      }
    }
  }

  void clear() {
    if (!empty()) {
      head_ = tail_ = 0;
      filter_ = {};
    }
  }

 private:
  static size_t bucket(uintptr_t address) { return (address >> 3) & (kBuckets - 1); }

  static constexpr size_t kBuckets = 64;
  size_t capacity_;
  std::vector<Entry> ring_;
  size_t mask_;
  size_t head_ = 0;
  size_t tail_ = 0;
  /// The number of entries by hash of their address. For most loads it is 0, and they need not
  /// search.
  std::array<uint16_t, kBuckets> filter_{};
};

}  // namespace holdfast::sim
