// SPDX-License-Identifier: Apache-2.0
//
// The open snapshots, and the decision whether a snapshot needs an old version.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <vector>

#include "holdfast/db/views/seats.h"
#include "holdfast/db/views/view.h"

namespace holdfast::db {

/// The views of the open snapshots and iterators. They are volatile: a crash closes them all.
///
/// Reclaiming is safe by two rules. First, a view is registered here before its counts are read,
/// and while any view's counts are unknown nothing is reclaimed. Second, a version is reclaimed
/// only after the transaction that replaced it has returned (`committed`). So a view that is
/// registered too late to be examined reads its counts after that return, and sees the replacement.
///
/// Every walk and every seek opens a view. Each thread has a seat for one such view (Seats). If the
/// seat is taken, the view goes into a list. So do the views of snapshots, which may have several
/// holders. There is one list per processor, up to 32, so threads on different processors do not
/// meet. Reclaiming examines all seats and lists, one after the other; the two rules hold for each
/// of them separately.
///
/// Thread safety: any thread may call any function. judge() and judge_deletion() may also run
/// inside transaction bodies. Nothing here touches the machine, so no body aborts while it holds a
/// lock.
class Snapshots {
 public:
  explicit Snapshots(size_t slots);

  /// Announces that a transaction of this slot is about to take a stamp.
  void announce_stamps(size_t slot);
  /// Returns the end of the slots that have stamps. A thread that reads the counts of the slots
  /// below calls this again afterwards. A slot that has appeared in between may have committed
  /// earlier than the transactions that the thread has read.
  size_t used_slots() const { return used_slots_.load(); }

  /// Registers a view. The caller sets its counts, one per used slot, and then calls announce.
  View* open();
  /// Like open(), for a view with one holder and a short life. `thread`: the holder's thread
  /// number, or below 0 if it has none.
  View* open_briefly(int thread);
  /// Declares that all counts of the view are set.
  static void announce(View* view) { view->enter(View::known); }
  /// Adds a holder to an open view from open(). Each holder calls close.
  static void share(const View* view) { view->holders_.fetch_add(1, std::memory_order_relaxed); }
  /// Ends one holder's use. The view ends with its last holder.
  void close(const View* view);
  /// Returns the number of open views. It adds up numbers that were read at different moments.
  size_t size() const;
  /// Returns whether no view is open. If it finds a view open, the thread that closes the last such
  /// view then loads everything that was stored before this call.
  bool none() const;

  /// Returns whether any view is being opened, so that its counts are unknown.
  bool opening() const;

  /// Declares that the transaction with this stamp is visible to every view opened from now on.
  void committed(uint64_t stamp);

  enum class Verdict { reclaim, needed, undecided };
  /// Judges a version with stamp `version` that a version with stamp `replacement` has replaced.
  Verdict judge(uint64_t version, uint64_t replacement) const;
  /// Judges a deletion that is its key's newest version. needed: a view sees the version before it.
  Verdict judge_deletion(uint64_t deletion) const;

 private:
  template <class Needs>
  Verdict judge_by(uint64_t last, Needs&& needs) const;
  template <class Needs>
  Verdict ask(Needs&& needs) const;

  struct alignas(64) Shard {
    /// Twice the number of views, plus 1 while a thread holds the shard's lock. So one locked
    /// instruction takes the lock and counts a view, and one load shows that there are no views.
    mutable std::atomic<uint64_t> state{0};
    std::list<View> views;
    std::list<View> closed;  ///< for reuse
  };
  class ShardLock;

  Seats seats_;
  std::vector<Shard> shards_;
  std::vector<std::atomic<uint64_t>> committed_;  ///< counts, by slot
  std::atomic<size_t> used_slots_{0};
};

}  // namespace holdfast::db
