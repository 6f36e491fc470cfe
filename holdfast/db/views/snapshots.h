// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <vector>

#include "holdfast/db/views/seats.h"
#include "holdfast/db/views/view.h"

namespace holdfast::db {

/// The snapshots that are open now. Volatile: a crash closes them all.
///
/// The rule that makes reclaiming safe. A snapshot is entered here before its counts are read, and
/// until they are known nothing is reclaimed. A version is reclaimed only after the transaction
/// that replaced it has returned (`committed`). So a snapshot that is entered too late to be looked
/// at reads its counts after that return, and sees the replacement.
///
/// Every walk and seek opens one. Each thread has a seat for one such view; where that is taken,
/// and for snapshots, which may have several holders, there is a list per processor, up to 32: who
/// opens meets only who closes there. Reclaiming looks at all of them, one after the other; the
/// rule holds for each by itself.
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
  /// The same for one holder only, and not for long. `thread`: its number, below 0 for none.
  View* open_briefly(int thread);
  static void announce(View* view) { view->enter(View::known); }
  /// For one more holder of an open view, who closes it too.
  static void share(const View* view) { view->holders_.fetch_add(1, std::memory_order_relaxed); }
  /// Ends with the last of its holders.
  void close(const View* view);
  /// How many are open; of each list at some moment, not of all at the same.
  size_t size() const;
  /// Whether there is none. Who closes the last one that this finds open loads afterwards what was
  /// stored before this.
  bool none() const;

  /// Whether any is being opened, its counts not known yet.
  bool opening() const;

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
  template <class Needs>
  Verdict ask(Needs&& needs) const;

  struct alignas(64) Shard {
    /// Twice the number of views, and 1 more while somebody has the lists. So one locked
    /// instruction takes the lists and enters a view, and one load tells that there is none.
    mutable std::atomic<uint64_t> state{0};
    std::list<View> views;
    std::list<View> closed;  ///< to be used again
  };
  class Hold;

  Seats seats_;
  std::vector<Shard> shards_;
  std::vector<std::atomic<uint64_t>> committed_;  ///< counts, by slot
  std::atomic<size_t> used_slots_{0};
};

}  // namespace holdfast::db
