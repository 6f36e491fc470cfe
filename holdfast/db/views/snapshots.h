// SPDX-License-Identifier: Apache-2.0
//
// The open snapshots, and the decision when an old version is free.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <mutex>
#include <vector>

#include "holdfast/db/views/seats.h"
#include "holdfast/db/views/short_lock.h"
#include "holdfast/db/views/version_heap.h"
#include "holdfast/db/views/version_queue.h"
#include "holdfast/db/views/view.h"

namespace holdfast::db {

/// The views of the open snapshots and iterators, and the old versions that they hold. All of this
/// is volatile: a crash closes all views.
///
/// Which views need a version. A view needs a version if it sees the version and not its
/// replacement. Views are ordered by what they see. So the views that need a version are neighbours
/// in that order: from the oldest view that sees the version to the newest one that does not see
/// the replacement. The version is held by this newest one. When that view closes, its versions go
/// to the next older view. A version that the next older view does not see is free: no older view
/// sees it either. Each view keeps its versions in a heap, with the free ones on top. So closing a
/// view merges two heaps, and looks at no version that another view needs.
///
/// When judging is safe. settle() gets versions that were replaced by a transaction that has
/// returned. A view is registered before its counts are read. So a view that settle() does not find
/// reads its counts later, and sees the replacement. While the counts of a view that it does find
/// are unknown, settle() waits a moment, then leaves the versions for another time.
///
/// Periods. Opening a view may take long, for instance if it waits for a disk, and with many
/// threads some view may always be being opened. Therefore time is divided into periods: a period
/// ends once all views are known that were being opened when it began. settle() marks the versions
/// that it leaves with the present period. A view that was being opened then is known once the next
/// period has ended. Views that were registered later see the replacements. So then settle() judges
/// these versions, whatever is being opened.
///
/// Iterators' views. Each thread has a seat for one such view (Seats). Closing it is one store, and
/// nothing is handed on then. A writer that finds a version needed by a seat's view notes the view:
/// a copy of its counts enters the order and holds the version. Later writers find that the seat's
/// use has ended, and close the copy.
///
/// Thread safety: any thread may call any function, outside of transactions. Inside, it may call
/// announce_stamps().
template <class M>
class Snapshots {
  using Word = typename M::template Atomic<uint64_t>;
  using Lock = std::lock_guard<ShortLock<M>>;

 public:
  explicit Snapshots(M& machine, size_t slots, const ViewLimits& limits = {})
      : machine_(machine),
        limits_(limits),
        seats_(machine, slots, limits),
        shared_(make_object<Shared>(machine)),
        lock_(machine) {
    noted_.resize(slots);
    origin_ = &views_.emplace_back();
    insert(origin_);
  }
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  /// Announces that a transaction of this slot is about to take a stamp.
  void announce_stamps(size_t slot) {
    uint64_t used = shared_->used_slots.load();
    while (used <= slot && !machine_.skips(Site{"views.announce"}) &&
           !shared_->used_slots.compare_exchange(used, slot + 1)) {
    }
  }
  /// Returns the end of the slots that have stamps. A thread that reads the counts of the slots
  /// below calls this again afterwards. A slot that has appeared in between may have committed
  /// earlier than the transactions that the thread has read.
  size_t used_slots() const { return shared_->used_slots.load(); }

  /// Registers a view. The caller sets its counts, one per used slot, and then calls announce().
  View<M>* open() {
    const Lock lock(lock_);
    View<M>* const view = spare_view();
    closed_.pop_back();
    view->period_ = period_;
    shared_->opening.fetch_add(one_of(period_));        // before the caller reads the counts
    view->front_->store(1, std::memory_order_relaxed);  // relaxed: no other thread knows it yet
    ++open_;
    return view;
  }
  /// Like open(), for a view with one holder and a short life. `thread`: the holder's thread
  /// number, or below 0 if it has none.
  View<M>* open_briefly(int thread) {
    View<M>* const seated = seats_.take(thread);
    return seated != nullptr ? seated : open();
  }
  /// Makes room for the counts of `slots` slots. Only before announce(). The number of holders
  /// stays.
  void reserve(View<M>* view, size_t slots) {
    if (slots > view->size_) {
      const Lock lock(lock_);
      const uint64_t front = view->front_->load(std::memory_order_relaxed);
      give_rows(view, slots);
      view->front_->store(front, std::memory_order_relaxed);
    }
  }
  /// Declares that all counts of the view are set. If it throws bad_alloc, the caller closes the
  /// view.
  void announce(View<M>* view) {
    if (view->in_seat_) {
      Seats<M>::announce(view);
      return;
    }
    set_rank(view, used_slots());
    const Lock lock(lock_);
    insert(view);
    end_opening(*view);  // after the view can be found
  }
  /// Adds a holder to an open view from open(). Each holder calls close(). Relaxed: the caller is a
  /// holder, so the view stays.
  static void share(const View<M>* view) { view->front_->fetch_add(1, std::memory_order_relaxed); }
  /// Ends one holder's use. The view ends with its last holder. Never a durable write.
  void close(const View<M>* closing) {
    if (closing->in_seat_) {
      Seats<M>::leave(closing);
      return;
    }
    if (closing->front_->fetch_add(~uint64_t{0}) > 1) {
      return;
    }
    auto* const view = const_cast<View<M>*>(closing);
    const Lock lock(lock_);
    --open_;
    if (view->ordered_) {
      remove(view);
    } else {
      end_opening(*view);
      closed_.push_back(view);
    }
  }

  /// Returns the number of open views. It adds up numbers that were read at different moments.
  size_t size() const {
    const Lock lock(lock_);
    return open_ + seats_.known().size() + seats_.opening().size();
  }

  /// Marks all versions of a queue with the present period, and returns it. Keeps marks of before,
  /// because another thread may be waiting to judge those versions.
  uint64_t mark(VersionQueue& replaced) const {
    const Lock lock(lock_);
    if (replaced.marked() == 0) {
      replaced.mark(period_);
    }
    return period_;
  }
  /// Returns whether all views are known that were being opened when versions were marked with this
  /// period. Call it again until it is true: each call ends at most one period.
  bool outlasted(uint64_t period) {
    const Lock lock(lock_);
    end_period();
    return period_ >= period + 2 || machine_.skips(Site{"views.outlast"});
  }

  /// Takes up to `most` versions off the front of `replaced`. Each was replaced by a transaction
  /// that has returned. Adds those that no view needs to *free; views hold the others. While a view
  /// is being opened, takes only versions that were marked long enough ago.
  void settle(VersionQueue& replaced, size_t most, VersionQueue* free) {
    if (replaced.empty() || most == 0) {
      return;
    }
    seats_.look();
    typename Seats<M>::Uses uses;
    most = std::min(most, replaced.size());
    if (!await_announcements() || !seats_.find(&uses)) {
      most = std::min(most, marked_long_ago(replaced));
      uses = seats_.known();
    }
    for (; most > 0; --most) {
      const OldVersion old = replaced[0];
      if (!needed(old, uses) || !hold(old, uses)) {
        free->push_back(old);
      }
      replaced.drop(
          1);  // each version is in one place, even if there is no memory for the next one
    }
  }

  /// Returns whether take_released() may find a version.
  bool has_released() const { return shared_->work.load(std::memory_order_acquire) != 0; }
  /// Adds up to `most` versions to *free that views have released.
  void take_released(size_t most, VersionQueue* free) {
    const Lock lock(lock_);
    close_ended_uses();
    for (; most > 0 && !released_.empty(); --most) {
      View<M>* const view = released_.back();
      free->push_back(view->held_.front());
      view->held_.pop();
      --held_;
      ++examined_;
      update_released(view);
    }
    update_work();
  }

  /// For tests: the versions held by views, and how often a version was examined so far.
  size_t held() const {
    const Lock lock(lock_);
    return held_;
  }
  uint64_t examined() const {
    const Lock lock(lock_);
    return examined_;
  }

 private:
  struct alignas(kMaxLineBytes) Shared {
    Word used_slots;
    /// Views from open() whose counts are unknown: a number for even periods in the low half, and
    /// one for odd periods. Each is counted before its counts are read, and until it is in the
    /// order.
    alignas(kMaxLineBytes) Word opening;
    Word ordered;  ///< views in the order besides origin_
    Word work;     ///< 1: take_released() has something to do
  };

  /// Waits a moment until no view from open() has unknown counts. Returns false if one still has.
  bool await_announcements() const {
    for (int n = 0; shared_->opening.load() != 0; ++n) {
      if (machine_.skips(Site{"views.opening"})) {
        return true;
      }
      if (n == limits_.patience) {
        return false;
      }
      machine_.pause();
    }
    return true;
  }

  /// The number that a view from open() in this period adds to `opening`.
  static uint64_t one_of(uint64_t period) { return uint64_t{1} << 32 * (period % 2); }
  void end_opening(const View<M>& view) { shared_->opening.fetch_add(0 - one_of(view.period_)); }

  /// Ends the period if no view is being opened any more that was when it began.
  void end_period() {
    const uint64_t before = one_of(period_ + 1);
    const auto lasts = [&](const auto& use) { return seats_.lasts(use); };
    if ((shared_->opening.load() & (before * UINT32_MAX)) != 0 ||
        std::any_of(opening_seats_.begin(), opening_seats_.end(), lasts)) {
      return;
    }
    ++period_;
    seats_.look();  // after the commits whose versions were marked
    opening_seats_ = seats_.opening();
  }

  /// Returns the number of versions at the front of the queue that a view that is being opened
  /// cannot need. Marks all if none is marked.
  size_t marked_long_ago(VersionQueue& replaced) {
    mark(replaced);
    return outlasted(replaced.period()) ? replaced.marked() : 0;
  }

  /// Returns whether a view may need the version. Loads `ordered` after await_announcements(): a
  /// view that was announced before is counted.
  bool needed(const OldVersion& old, const typename Seats<M>::Uses& uses) const {
    if (old.replaced == 0) {
      return false;
    }
    if (shared_->ordered.load() != 0) {
      return true;
    }
    for (const auto& use : uses) {
      if (seats_.needs(use, old)) {
        return true;
      }
    }
    return false;
  }

  /// Lets the newest view that needs the version hold it. Returns false if no view does. If it
  /// throws bad_alloc, no view holds the version.
  bool hold(const OldVersion& old, const typename Seats<M>::Uses& uses) {
    const Lock lock(lock_);
    ++examined_;
    close_ended_uses();
    for (const auto& use : uses) {
      if (seats_.needs(use, old) && !machine_.skips(Site{"views.note"})) {
        note(use);
      }
    }
    View<M>* const newest = *std::prev(first_that_sees(old.replaced));
    if (!newest->sees(old.created)) {
      return false;
    }
    const uint64_t since = (*first_that_sees(old.created))->rank_;
    newest->held_.push(old, std::max(since, origin_->rank_ + 1));  // 0 if the stamp is damaged
    ++held_;
    update_released(newest);
    update_work();
    return true;
  }

  /// Returns the oldest view that sees a stamp. Usually all views see it, or none does.
  typename View<M>::Order::iterator first_that_sees(uint64_t stamp) const {
    if (!(*std::prev(order_.end()))->sees(stamp)) {
      return order_.end();
    }
    const auto oldest = std::next(order_.begin());  // origin_ sees nothing
    return (*oldest)->sees(stamp) ? oldest : order_.lower_bound(stamp);
  }

  /// Puts a copy of a seat's view into the order, unless it is there or the use has ended.
  void note(const typename Seats<M>::Use& use) {
    Noted& noted = noted_[use.seat];
    if (noted.view != nullptr) {
      if (noted.state == use.state) {
        return;
      }
      end_note(use.seat);
    }
    const size_t slots = used_slots();
    View<M>* const view = spare_view();
    if (slots > view->size_) {
      give_rows(view, slots);
    }
    if (!seats_.copy(use, slots, view)) {
      return;
    }
    set_rank(view, slots);
    insert(view);
    closed_.pop_back();
    noted = {view, use.state};
    ++notes_;
  }
  void end_note(size_t seat) {
    remove(noted_[seat].view);
    noted_[seat].view = nullptr;
    --notes_;
  }
  /// Closes the copies of views whose seats have been left.
  void close_ended_uses() {
    size_t left = notes_;
    for (size_t i = 0; left > 0; ++i) {
      if (noted_[i].view == nullptr) {
        continue;
      }
      --left;
      if (!seats_.lasts({i, noted_[i].state}) || machine_.skips(Site{"views.noted"})) {
        end_note(i);
      }
    }
  }

  /// Returns the last one of closed_, from which the caller removes it. Takes all memory that the
  /// view will need to be closed, or to be in released_.
  View<M>* spare_view() {
    if (closed_.empty()) {
      if (const size_t views = views_.size() + 1; closed_.capacity() < views) {
        released_.reserve(2 * views);
        closed_.reserve(2 * views);
      }
      View<M>* const view = &views_.emplace_back();  // lost without memory for its rows
      give_rows(view, 1);
      closed_.push_back(view);
    }
    return closed_.back();
  }
  /// The machine frees no memory. So a view keeps its rows, and many views share an allocation.
  void give_rows(View<M>* view, size_t slots) {
    constexpr size_t kAtOnce = 256;
    const size_t rows = View<M>::rows_for(slots);
    if (rows_left_ < rows) {
      const size_t taken = std::max(rows, kAtOnce);
      rows_ = make_array<typename View<M>::Row>(machine_, taken);
      rows_left_ = taken;  // not before: there may be no memory for them
    }
    view->set_rows(rows_, rows);
    rows_ += rows;
    rows_left_ -= rows;
  }
  static void set_rank(View<M>* view, size_t slots) {
    view->rank_ = 0;
    for (size_t i = 0; i < slots && i < view->size_; ++i) {
      view->rank_ += view->counts_[i].load(std::memory_order_relaxed);  // its own stores
    }
  }
  void insert(View<M>* view) {
    view->at_ = order_.insert(order_.end(), view);  // usually it is the newest
    view->ordered_ = true;
    shared_->ordered.store(order_.size() - 1);
  }
  /// Removes a view from the order and hands its versions on.
  void remove(View<M>* view) {
    View<M>* const older = *std::prev(view->at_);
    order_.erase(view->at_);
    view->ordered_ = false;
    shared_->ordered.store(order_.size() - 1);
    if (!view->held_.empty() && !machine_.skips(Site{"views.hand_on"})) {
      older->held_.merge(view->held_);
      update_released(view);
      update_released(older);
      update_work();
    }
    closed_.push_back(view);
  }

  /// Makes released_ include the view exactly if its heap has a free version on top.
  void update_released(View<M>* view) {
    const bool free = !view->held_.empty() &&
                      (view->held_.top() > view->rank_ || machine_.skips(Site{"views.held"}));
    if (free == (view->released_at_ != SIZE_MAX)) {
      return;
    }
    if (free) {
      view->released_at_ = released_.size();
      released_.push_back(view);
    } else {
      View<M>* const last = released_.back();
      released_[view->released_at_] = last;
      last->released_at_ = view->released_at_;
      released_.pop_back();
      view->released_at_ = SIZE_MAX;
    }
  }
  void update_work() {
    const uint64_t work = !released_.empty() || notes_ != 0 ? 1 : 0;
    if (shared_->work.load(std::memory_order_relaxed) != work) {
      shared_->work.store(work, std::memory_order_release);
    }
  }

  M& machine_;
  const ViewLimits limits_;
  Seats<M> seats_;
  Shared* shared_;

  // Under the lock:
  mutable ShortLock<M> lock_;
  typename View<M>::Order order_;
  View<M>* origin_;  ///< sees nothing (it has no counts) and stays open; what it holds is free
  std::deque<View<M>> views_;
  std::vector<View<M>*> closed_;           ///< for reuse
  typename View<M>::Row* rows_ = nullptr;  ///< for new views
  size_t rows_left_ = 0;
  size_t open_ = 0;  ///< views from open()
  uint64_t period_ = 0;
  typename Seats<M>::Uses opening_seats_;  ///< when the period began
  struct Noted {
    View<M>* view = nullptr;
    uint64_t state = 0;
  };
  std::vector<Noted> noted_;  ///< by seat: the copy of its view
  size_t notes_ = 0;
  std::vector<View<M>*> released_;  ///< views with a free version on top of their heap
  size_t held_ = 0;
  uint64_t examined_ = 0;
};

}  // namespace holdfast::db
