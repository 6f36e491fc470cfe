// SPDX-License-Identifier: Apache-2.0
//
// A snapshot's view of the store: which transactions it sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

#include "holdfast/db/views/entry_buffer.h"
#include "holdfast/db/views/version_heap.h"
#include "holdfast/machine/machine.h"

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

template <class M>
class Seats;
template <class M>
class Snapshots;

/// For each thread slot, how many of its update transactions a snapshot sees. Together these are
/// exactly the transactions that committed before some moment. So of two views, one sees everything
/// that the other one sees. The sum of a view's counts, its rank, orders the views.
///
/// View objects are reused. Its words lie in memory of the machine, because other threads may
/// examine a seat's view while its owner opens or closes it.
template <class M>
class View {
 public:
  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  void set_count(size_t slot, uint64_t count) {
    counts_[slot].store(count, std::memory_order_release);
  }
  bool sees(uint64_t stamp) const {
    const size_t slot = Stamp::slot(stamp);  // beyond size_ if the stamp is damaged
    return slot < size_ && counts_[slot].load(std::memory_order_acquire) >= Stamp::count(stamp);
  }
  /// Returns an array for the iterator that holds this view, if the view is in a seat; else null.
  /// The array stays in the seat for the next iterator.
  EntryArray* entry_array() const { return in_seat_ ? &entry_array_ : nullptr; }

 private:
  friend class Seats<M>;
  friend class Snapshots<M>;
  using Word = typename M::template Atomic<uint64_t>;

  static constexpr size_t kInRow = 16;
  /// Each opening writes the view, so the views of two threads share no pair of cache lines.
  struct alignas(kMaxLineBytes) Row {
    Word word[kInRow];
  };
  /// Returns the number of rows for the counts of `slots` slots and the word in front of them.
  static size_t rows_for(size_t slots) { return slots / kInRow + 1; }
  /// Gives the view `n` rows of zeros. Only before another thread knows it.
  void set_rows(Row* rows, size_t n) {
    front_ = rows->word;
    counts_ = front_ + 1;
    size_ = n * kInRow - 1;
  }

  Word* front_ = nullptr;  ///< in a seat: the seat's state; else: the number of holders
  Word* counts_ = nullptr;
  size_t size_ = 0;
  bool in_seat_ = false;
  mutable EntryArray entry_array_;

  // For Snapshots, under its lock.
  struct Older {
    using is_transparent = void;
    bool operator()(const View* a, const View* b) const { return a->rank_ < b->rank_; }
    /// All views that do not see a stamp come before those that see it.
    bool operator()(const View* view, uint64_t stamp) const { return !view->sees(stamp); }
  };
  using Order = std::multiset<View*, Older>;
  uint64_t rank_ = 0;
  uint64_t period_ = 0;  ///< of Snapshots, in which it was opened
  typename Order::iterator at_;
  bool ordered_ = false;  ///< at_ is its place in the order
  VersionHeap held_;
  size_t released_at_ = SIZE_MAX;  ///< index in Snapshots::released_
};

}  // namespace holdfast::db
