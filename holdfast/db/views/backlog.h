// SPDX-License-Identifier: Apache-2.0
//
// The old versions that no transaction has freed yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
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
  void begin() {
    freed_ = 0;
    replaced_.clear();
  }
  /// Returns the next version to free; null if there is none.
  const OldVersion* next() { return freed_ < free_.size() ? &free_[freed_++] : nullptr; }
  /// Adds a version that the transaction has replaced, or must leave for later.
  void add(const OldVersion& old) { replaced_.push_back(old); }

  /// Returns the number of versions to free.
  size_t size() const { return free_.size(); }
  bool empty() const { return free_.empty(); }
  /// Returns how many this run of the body has freed, without those that it leaves for later.
  size_t gone() const { return freed_ - std::min(freed_, replaced_.size()); }

 private:
  template <class M>
  friend class Backlog;

  VersionQueue free_;  ///< no view needs these
  size_t freed_ = 0;   ///< of them, by this run of the body
  VersionQueue replaced_;
  std::unique_ptr<BacklogShare> next_;  ///< the one that ended after this one, in Queue::ended
};

/// The old versions of a store that no transaction has freed yet. Each is in one place:
///
///     replaced     in the queue of the slot whose transaction replaced it, or in the surplus
///     needed       held by a view (Snapshots)
///     free         in a queue, or released by a view, or in a transaction's share
///
/// Threads free versions of their own slots, because those of other slots make transactions
/// conflict. But a thread that has replaced many, such as one that empties a map, may never write
/// again. So its versions become the surplus, which all threads free.
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
      : machine_(machine),
        snapshots_(snapshots),
        slots_(slots),
        surplus_lock_(machine),
        surplus_size_(make_object<SurplusSize>(machine)) {
    for (size_t i = 0; i <= slots; ++i) {  // the last one for threads without a slot
      queues_.push_back(std::make_unique<Queue>(machine));
    }
  }

  /// Takes a share for a transaction of slot `slot` with about `changes` changes; 0: as many as
  /// the slot's last transaction.
  std::unique_ptr<BacklogShare> take(int slot, size_t changes) {
    Queue& queue = queue_of(slot);
    const Lock lock(queue.lock);
    take_back(queue);
    // Without one it is this thread's first transaction, or another thread has the share.
    if (queue.share == nullptr) {
      queue.share = std::make_unique<BacklogShare>();
    }
    const size_t wanted = kFreedPerChange * (changes != 0 ? changes : queue.last_changes);
    fill(queue, wanted, queue.share.get());
    return std::move(queue.share);
  }
  /// Takes up to `most` versions of all slots.
  std::unique_ptr<BacklogShare> take_any(size_t most) {
    auto share = std::make_unique<BacklogShare>();
    try {
      for (const auto& queue : queues_) {
        // Views may need all versions of one step, and none of the next.
        while (take_step(*queue, most, share.get())) {
        }
      }
    } catch (const std::bad_alloc&) {
      put(0, std::move(share), false);
      throw;
    }
    return share;
  }

  /// Marks the versions that have not been judged (Snapshots::mark), and returns the period. In a
  /// queue with older marks the other versions get theirs once the marked ones are judged. Stores
  /// the number of versions that no transaction has in *versions; views may need some of them.
  uint64_t mark(size_t* versions) {
    *versions = snapshots_.held();
    uint64_t period = 0;
    const auto add = [&](VersionQueue& replaced) {
      period = snapshots_.mark(replaced);
      *versions += replaced.size();
    };
    for (const auto& queue : queues_) {
      const Lock lock(queue->lock);
      take_back(*queue);
      add(queue->replaced);
      *versions += queue->share == nullptr ? 0 : queue->share->size();
    }
    const Lock lock(surplus_lock_);
    add(surplus_);
    return period;
  }

  /// Ends a share. `committed`: its transaction has returned, so what it has freed is gone.
  /// Needs no memory, because destructors end shares.
  void put(int slot, std::unique_ptr<BacklogShare> share, bool committed) {
    Queue& queue = queue_of(slot);
    const Lock lock(queue.lock);
    if (committed) {
      share->free_.drop(share->freed_);
      share->freed_ = 0;
      queue.last_changes = std::max(share->replaced_.size(), kLeastChanges);
    } else {
      if (machine_.skips(Site{"backlog.abort"})) {
        share->free_.clear();
      }
      share->begin();
    }
    std::unique_ptr<BacklogShare>* last = &queue.ended;
    while (*last != nullptr) {
      last = &(*last)->next_;
    }
    *last = std::move(share);
    take_back(queue);
    if (queue.replaced.size() > kMostPerSlot) {
      add_surplus(queue.replaced);
    }
    if (queue.share != nullptr && queue.share->free_.size() > kMostPerSlot) {
      add_surplus(queue.share->free_);  // to be judged again
    }
  }

  static constexpr size_t kFreedPerChange = 2;

 private:
  using Lock = std::lock_guard<ShortLock<M>>;
  static constexpr size_t kLeastChanges = 8;
  static constexpr size_t kMostPerSlot = 4096;  ///< versions that wait for one slot
  /// A slot takes neighbors from the surplus: threads that free every other version of a list meet.
  static constexpr size_t kSurplusRun = 64;

  struct Queue {
    explicit Queue(M& machine) : lock(machine) {}
    ShortLock<M> lock;
    VersionQueue replaced;  ///< not judged yet, in the order of their replacement
    /// The free versions of the slot's next transaction. Null: a transaction has the share.
    std::unique_ptr<BacklogShare> share;
    /// Shares that have ended, in that order. Usually none: there was no memory to take them back.
    std::unique_ptr<BacklogShare> ended;
    size_t last_changes = kLeastChanges;
  };

  Queue& queue_of(int slot) {
    return *queues_[slot < 0 ? slots_ : std::min(static_cast<size_t>(slot), slots_)];
  }

  /// Takes the versions of shares that have ended. Without memory the rest waits for another time.
  static void take_back(Queue& queue) {
    try {
      while (queue.ended != nullptr) {
        BacklogShare& share = *queue.ended;
        queue.replaced.take(share.replaced_, SIZE_MAX);
        if (queue.share != nullptr) {
          queue.share->free_.take(share.free_, SIZE_MAX);
          queue.ended = std::move(share.next_);
        } else {  // its memory serves the slot's next transaction
          queue.share = std::move(queue.ended);
          queue.ended = std::move(queue.share->next_);
        }
      }
    } catch (const std::bad_alloc&) {
      // VersionQueue::take() has changed nothing.
    }
  }

  /// A step of take_any(). Returns whether another one may find more.
  bool take_step(Queue& queue, size_t most, BacklogShare* share) {
    const Lock lock(queue.lock);
    take_back(queue);
    VersionQueue& free = share->free_;
    if (queue.share != nullptr) {
      free.take(queue.share->free_, most - std::min(most, free.size()));
    }
    const auto waiting = [&] {
      return queue.replaced.size() + surplus_size_->value.load(std::memory_order_relaxed);
    };
    const size_t before = waiting();
    fill(queue, most, share);
    return free.size() < most && waiting() < before;
  }

  /// Moves a slot's versions to the surplus. Without memory they stay.
  void add_surplus(VersionQueue& replaced) {
    const Lock lock(surplus_lock_);
    try {
      surplus_.take(replaced, SIZE_MAX);
    } catch (const std::bad_alloc&) {
      // VersionQueue::take() has changed nothing.
    }
    surplus_size_->value.store(surplus_.size());
  }
  void take_surplus(size_t most, VersionQueue* free) {
    const Lock lock(surplus_lock_);
    snapshots_.settle(surplus_, most, free);
    surplus_size_->value.store(surplus_.size());
  }

  void fill(Queue& queue, size_t wanted, BacklogShare* share) {
    VersionQueue& free = share->free_;
    if (free.size() < wanted) {
      snapshots_.settle(queue.replaced, wanted - free.size(), &free);
    }
    // Relaxed: a thread that misses some versions leaves them to a later transaction.
    if (free.size() < wanted && surplus_size_->value.load(std::memory_order_relaxed) != 0) {
      take_surplus(std::max(wanted - free.size(), kSurplusRun), &free);
    }
    if (free.size() < wanted && snapshots_.has_released()) {
      snapshots_.take_released(wanted - free.size(), &free);
    }
  }

  M& machine_;
  Snapshots<M>& snapshots_;
  const size_t slots_;
  std::vector<std::unique_ptr<Queue>> queues_;
  struct alignas(kMaxLineBytes) SurplusSize {
    typename M::template Atomic<uint64_t> value;
  };
  ShortLock<M> surplus_lock_;
  VersionQueue surplus_;  ///< not judged yet, or to be judged again
  SurplusSize* const surplus_size_;
};

}  // namespace holdfast::db
