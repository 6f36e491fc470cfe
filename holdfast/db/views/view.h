// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/db/views/entry_buffer.h"

namespace holdfast::db {

/// A transaction's place in its thread slot's row: slot in the low byte, number above it. Stamps of
/// one slot are ordered; between slots a snapshot says what it sees.
class Stamp {
 public:
  static uint64_t make(int slot, uint64_t count) {
    return count << 8 | static_cast<uint64_t>(slot);
  }
  static size_t slot(uint64_t stamp) { return stamp & 0xff; }
  static uint64_t count(uint64_t stamp) { return stamp >> 8; }
};

/// How many transactions of each slot a snapshot sees: those before some moment, and no others.
///
/// Used again and again, and judged while its owner opens and closes it: `state` says which use the
/// counts belong to, and is looked at before and after them.
///
/// Each opening writes all of it, so no two threads' views share a pair of cache lines.
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
  /// Memory for the only holder of a view in a seat, which stays there for the next one; else null.
  EntryRoom* room() const { return shard_ == kInSeat ? &room_ : nullptr; }

 private:
  friend class Seats;
  friend class Snapshots;

  enum Phase : uint64_t { closed, opening, known };  ///< known: all counts are set
  static constexpr uint64_t kUse = 4;
  static Phase phase(uint64_t state) { return static_cast<Phase>(state % kUse); }

  void begin_use() const {
    state_.store(state_.load(std::memory_order_relaxed) / kUse * kUse + kUse + opening,
                 std::memory_order_relaxed);  // the counts are stored with release
  }
  /// Within a use; only its owner changes it.
  void enter(Phase phase) const {
    const uint64_t use = state_.load(std::memory_order_relaxed) / kUse * kUse;
    state_.store(use + phase, std::memory_order_release);
  }

  static constexpr size_t kInRow = 16;
  struct alignas(128) Row : std::array<std::atomic<uint64_t>, kInRow> {};

  std::vector<Row> counts_;
  mutable std::atomic<uint64_t> state_{closed};  ///< the number of the use and its phase
  mutable std::atomic<int> holders_{1};          ///< a snapshot, iterators; of one in a list
  static constexpr size_t kInSeat = SIZE_MAX;
  size_t shard_ = kInSeat;  ///< of Snapshots, where it is entered
  mutable EntryRoom room_;
};

}  // namespace holdfast::db
