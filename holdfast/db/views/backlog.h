// SPDX-License-Identifier: Apache-2.0
//
// The old versions that no transaction has freed yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "holdfast/db/views/short_lock.h"
#include "holdfast/db/views/snapshots.h"
#include "holdfast/db/views/version_heap.h"

namespace holdfast::db {

/// One transaction's part of the backlog: the versions that it may free, and those that it
/// replaces. A body may run several times; each run begins with begin().
class BacklogShare {
 public:
  BacklogShare() = default;
  BacklogShare(BacklogShare&&) noexcept = default;
  BacklogShare& operator=(BacklogShare&&) noexcept = default;

  void begin() {
    freed_ = 0;
    replaced_.clear();
  }
  /// Returns the next version to free; null if there is none.
  const OldVersion* next() {
    return first_ + freed_ < free_.size() ? &free_[first_ + freed_++] : nullptr;
  }
  /// Adds a version that the transaction has replaced, or must leave for later.
  void add(const OldVersion& old) { replaced_.push_back(old); }

  bool empty() const { return first_ == free_.size(); }

 private:
  template <class M>
  friend class Backlog;

  size_t available() const { return free_.size() - first_; }

  std::vector<OldVersion> free_;  ///< no view needs these; those before first_ are freed
  size_t first_ = 0;
  size_t freed_ = 0;  ///< by this run of the body
  std::vector<OldVersion> replaced_;
};

/// The old versions of a store that no transaction has freed yet. Each is in one place:
///
///     replaced     in the queue of the slot whose transaction replaced it
///     needed       held by a view (Snapshots)
///     free         in a queue, or released by a view, or in a transaction's share
///
/// A transaction takes a share before it begins, and frees versions of it with each change that it
/// makes. Afterwards it returns the rest, together with the versions that it has replaced. A change
/// replaces at most one version and frees up to two, so the backlog shrinks unless views need it.
///
/// Thread safety: any thread, outside of transactions; one thread at a time per share.
template <class M>
class Backlog {
 public:
  Backlog(M& machine, Snapshots<M>& snapshots, size_t slots)
      : machine_(machine), snapshots_(snapshots), slots_(slots) {
    for (size_t i = 0; i <= slots; ++i) {  // the last one for threads without a slot
      queues_.push_back(std::make_unique<Queue>(machine));
    }
  }

  /// Takes a share for a transaction of slot `slot` with about `changes` changes; 0: as many as
  /// the slot's last transaction.
  BacklogShare take(int slot, size_t changes) {
    Queue& queue = queue_of(slot);
    const Lock lock(queue.lock);
    BacklogShare share = std::exchange(queue.share, {});
    const size_t wanted = kFreedPerChange * (changes != 0 ? changes : queue.last_changes);
    fill(queue, wanted, &share);
    return share;
  }
  /// Takes up to `most` versions of all slots.
  BacklogShare take_any(size_t most) {
    BacklogShare share;
    for (const auto& queue : queues_) {
      const Lock lock(queue->lock);
      BacklogShare& there = queue->share;
      for (; share.available() < most && !there.empty(); ++there.first_) {
        share.free_.push_back(there.free_[there.first_]);
      }
      fill(*queue, most, &share);
    }
    return share;
  }

  /// Ends a share. `committed`: its transaction has returned, so what it has freed is gone.
  void put(int slot, BacklogShare&& share, bool committed) {
    Queue& queue = queue_of(slot);
    const Lock lock(queue.lock);
    if (committed) {
      share.first_ += share.freed_;
      queue.last_changes = std::max(share.replaced_.size(), kLeastChanges);
      queue.replaced.insert(queue.replaced.end(), share.replaced_.begin(), share.replaced_.end());
    } else if (machine_.skips(Site{"backlog.abort"})) {
      share.first_ = share.free_.size();
    }
    share.begin();
    // The memory of the emptied vectors serves the slot's next transaction.
    if (share.first_ > share.free_.size() / 2) {
      share.free_.erase(share.free_.begin(),
                        share.free_.begin() + static_cast<ptrdiff_t>(share.first_));
      share.first_ = 0;
    }
    if (queue.share.empty()) {
      queue.share = std::move(share);
    } else {
      queue.share.free_.insert(queue.share.free_.end(),
                               share.free_.begin() + static_cast<ptrdiff_t>(share.first_),
                               share.free_.end());
    }
  }

  static constexpr size_t kFreedPerChange = 2;

 private:
  using Lock = std::lock_guard<ShortLock<M>>;
  static constexpr size_t kLeastChanges = 8;

  struct Queue {
    explicit Queue(M& machine) : lock(machine) {}
    ShortLock<M> lock;
    std::deque<OldVersion> replaced;  ///< not judged yet, in the order of their replacement
    BacklogShare share;               ///< the free versions of the slot's next transaction
    size_t last_changes = kLeastChanges;
  };

  Queue& queue_of(int slot) {
    return *queues_[slot < 0 ? slots_ : std::min(static_cast<size_t>(slot), slots_)];
  }

  void fill(Queue& queue, size_t wanted, BacklogShare* share) {
    if (share->available() < wanted) {
      snapshots_.settle(queue.replaced, wanted - share->available(), &share->free_);
    }
    if (share->available() < wanted && snapshots_.has_released()) {
      snapshots_.take_released(wanted - share->available(), &share->free_);
    }
  }

  M& machine_;
  Snapshots<M>& snapshots_;
  const size_t slots_;
  std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace holdfast::db
