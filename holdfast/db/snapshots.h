// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <vector>

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
struct View {
  View(size_t slots, size_t entered) : counts(slots), shard(entered) {}

  std::vector<uint64_t> counts;
  std::atomic<bool> known{false};       ///< counts are set
  mutable std::atomic<int> holders{1};  ///< a snapshot, iterators
  const size_t shard;                   ///< of Snapshots, where it is entered

  bool sees(uint64_t stamp) const { return counts[Stamp::slot(stamp)] >= Stamp::count(stamp); }
};

/// The snapshots that are open now. Volatile: a crash closes them all.
///
/// The rule that makes reclaiming safe. A snapshot is entered here before its counts are read, and
/// until they are known nothing is reclaimed. A version is reclaimed only after the transaction
/// that replaced it has returned (`committed`). So a snapshot that is entered too late to be looked
/// at reads its counts after that return, and sees the replacement.
///
/// Every walk and seek opens one, so there is a list per processor, up to 32: who opens meets only
/// who closes there. Reclaiming looks at all of them, one after the other; the rule holds for each
/// by itself.
///
/// Thread safety: any thread. judge also inside transaction bodies: nothing here touches the
/// machine, so a lock is never held while a body aborts.
class Snapshots {
 public:
  explicit Snapshots(size_t slots);

  /// A transaction of this slot is about to take a stamp.
  void stamps(size_t slot);
  /// Slots from this one on have no stamps. Whoever reads the counts of those below asks again
  /// afterwards: a slot that came in between may have committed before what was read.
  size_t used_slots() const { return used_slots_.load(); }

  /// A view whose counts the caller is to set, one per used slot, and then to announce.
  View* open();
  static void announce(View* view) { view->known.store(true, std::memory_order_release); }
  /// For one more holder of an open view, who closes it too.
  static void share(const View* view) { view->holders.fetch_add(1, std::memory_order_relaxed); }
  /// Ends with the last of its holders.
  void close(const View* view);
  /// How many are open; of each list at some moment, not of all at the same.
  size_t size() const;

  /// The transaction with this stamp is visible to every snapshot opened from now on.
  void committed(uint64_t stamp);

  enum class Verdict { reclaim, needed, undecided };
  /// On a version that another one, stamped `replacement`, has replaced.
  Verdict judge(uint64_t version, uint64_t replacement) const;
  /// On a deletion that is a key's newest version: whether anybody still sees what was before.
  Verdict judge_deletion(uint64_t deletion) const;

 private:
  template <class Needs>
  Verdict judge_by(uint64_t last, Needs&& needs) const;

  struct alignas(64) Shard {
    /// Twice the number of views, and 1 more while somebody has the lists. So one locked
    /// instruction takes the lists and enters a view, and one load tells that there is none.
    mutable std::atomic<uint64_t> state{0};
    std::list<View> views;
    std::list<View> closed;  ///< to be used again
  };
  class Hold;

  std::vector<Shard> shards_;
  std::vector<std::atomic<uint64_t>> committed_;  ///< counts, by slot
  std::atomic<size_t> used_slots_{0};
};

}  // namespace holdfast::db
