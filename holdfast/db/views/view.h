// SPDX-License-Identifier: Apache-2.0
//
// A snapshot's view of the store: which transactions it sees.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/db/views/entry_buffer.h"

namespace holdfast::db {

/// Identifies an update transaction: its thread slot in the low byte, and above it the number of
/// update transactions of that slot so far. Stamps of one slot are ordered. Stamps of two slots are
/// not; a view says which of them it sees.
class Stamp {
 public:
  static uint64_t make(int slot, uint64_t count) {
    return count << 8 | static_cast<uint64_t>(slot);
  }
  static size_t slot(uint64_t stamp) { return stamp & 0xff; }
  static uint64_t count(uint64_t stamp) { return stamp >> 8; }
};

/// For each thread slot, how many of its update transactions a snapshot sees. Together these are
/// exactly the transactions that committed before some moment.
///
/// View objects are reused. Another thread may examine a view while its owner opens or closes it.
/// So `state_` holds the number of the use; the other thread loads it before and after the counts.
///
/// Each opening writes the whole view. So the views of two threads share no pair of cache lines.
class alignas(128) View {
 public:
  View() = default;
  explicit View(size_t slots) : counts_((slots + kInRow - 1) / kInRow) {}

  void set_count(size_t slot, uint64_t count) {
    counts_[slot / kInRow][slot % kInRow].store(count, std::memory_order_release);
  }
  bool sees(uint64_t stamp) const {
    const size_t slot = Stamp::slot(stamp);
    return counts_[slot / kInRow][slot % kInRow].load(std::memory_order_acquire) >=
           Stamp::count(stamp);
  }
  /// Returns an array for the iterator that holds this view, if the view is in a seat; else null.
  /// The array stays in the seat for the next iterator.
  EntryArray* entry_array() const { return shard_ == kInSeat ? &entry_array_ : nullptr; }

 private:
  friend class Seats;
  friend class Snapshots;

  enum Phase : uint64_t { closed, opening, known };  ///< known: all counts are set
  static constexpr uint64_t kUse = 4;
  static Phase phase(uint64_t state) { return static_cast<Phase>(state % kUse); }

  void begin_use() const {
    state_.store(state_.load(std::memory_order_relaxed) / kUse * kUse + kUse + opening,
                 std::memory_order_relaxed);  // relaxed: the counts are stored with release
  }
  /// Changes the phase within a use. Only the view's owner calls it.
  void enter(Phase phase) const {
    const uint64_t use = state_.load(std::memory_order_relaxed) / kUse * kUse;
    state_.store(use + phase, std::memory_order_release);
  }

  static constexpr size_t kInRow = 16;
  struct alignas(128) Row : std::array<std::atomic<uint64_t>, kInRow> {};

  std::vector<Row> counts_;
  mutable std::atomic<uint64_t> state_{closed};  ///< the number of the use and its phase
  mutable std::atomic<int> holders_{1};          ///< snapshot and iterators; unused in a seat
  static constexpr size_t kInSeat = SIZE_MAX;
  size_t shard_ = kInSeat;  ///< the shard of Snapshots whose list has the view
  mutable EntryArray entry_array_;
};

}  // namespace holdfast::db
