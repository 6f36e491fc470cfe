// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/sim/support/masked_word.h"

namespace holdfast::sim {

/// What waits in a store buffer. A transactional store takes ownership of its line when it leaves;
/// a write-back covers what is visible in its line when it leaves. Two mark where a transaction of
/// the hardware design begins and commits. A non-temporal store goes around the caches.
enum class EntryKind : uint8_t {
  store,
  transactional,
  write_back,
  tx_begin,
  tx_commit,
  nontemporal,
};

/// A store that needs its line.
inline bool is_store(EntryKind kind) {
  return kind <= EntryKind::transactional;
}

struct Entry {
  MaskedWord word;  ///< write_back: only the address
  EntryKind kind = EntryKind::store;
  uint64_t leave = 0;    ///< timed: when it may leave
  bool retried = false;  ///< timed: its line was taken away once already
};

/// One thread's stores that no other thread sees yet: first in, first out (total store order), with
/// forwarding to the thread's own loads.
class StoreBuffer {
 public:
  explicit StoreBuffer(size_t capacity)
      : capacity_(capacity < 1 ? 1 : capacity),
        ring_(std::bit_ceil(capacity_)),
        mask_(ring_.size() - 1) {}

  bool empty() const { return head_ == tail_; }
  bool full() const { return size() == capacity_; }
  size_t size() const { return tail_ - head_; }

  void push(const Entry& entry) {
    ring_[tail_++ & mask_] = entry;
    ++filter_[bucket(entry.word.address)];
  }

  const Entry& front() const { return ring_[head_ & mask_]; }
  Entry& front() { return ring_[head_ & mask_]; }
  const Entry& back() const { return ring_[(tail_ - 1) & mask_]; }
  void pop() { --filter_[bucket(ring_[head_++ & mask_].word.address)]; }

  /// `value` of the word at `address` as the owner of the buffer sees it.
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

  /// All these bytes of the word come from one entry.
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

  /// An aborted transaction's stores vanish; what was stored before or while suspended stays, in
  /// order.
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
    head_ = tail_ = 0;
    filter_ = {};
  }

 private:
  static size_t bucket(uintptr_t address) { return (address >> 3) & (kBuckets - 1); }

  static constexpr size_t kBuckets = 64;
  size_t capacity_;
  std::vector<Entry> ring_;
  size_t mask_;
  size_t head_ = 0;
  size_t tail_ = 0;
  /// Entries per hash of the address: most loads look no further.
  std::array<uint16_t, kBuckets> filter_{};
};

}  // namespace holdfast::sim
