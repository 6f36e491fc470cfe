// SPDX-License-Identifier: Apache-2.0
//
// Commit blocks between their commit and the logs, in the order of the commit times. Engines use it
// whose transactions return before they are durable.
//
//   put       a transaction leaves its block in the entry of its time; nothing is written
//   persist   the next blocks, as long as they are there -> the own log, pwb; one pfence for all;
//             durable := the last of these times. With combination they become one block, which has
//             the last value of each word
//
// Any thread persists: the background thread all the time, and a transaction that waits. Blocks go
// to the log of the thread that persists them. Times have no gap, so recovery (Gaps::stop) finds a
// prefix of the commit order.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "holdfast/engines/parts/basics/round_lock.h"
#include "holdfast/engines/parts/durability/lag/lag_options.h"
#include "holdfast/engines/parts/durability/stamped/stamped_logs.h"

namespace holdfast {

/// The queue of one heap.
///
/// A transaction that commits later takes a credit before its time, so that at most `bound` of them
/// have returned and are not durable. The queue gives the credit back once the block is durable.
///
/// Thread safety: all functions for any thread with a slot, resume() while no transaction runs.
/// Errors: MediumFailure, from those that wait or persist.
template <class M>
class PersistQueue {
 public:
  using Position = typename M::template Atomic<uint64_t>;

  PersistQueue(M& machine, StampedLogs<M>& logs, uint64_t bound, bool combines)
      : machine_(machine),
        logs_(logs),
        bound_(bound),
        combines_(combines),
        lock_(machine),
        shared_(make_object<Shared>(machine)),
        filled_(make_array<Filled>(machine, entries())),
        blocks_(entries()) {}

  /// Everything up to this time is durable.
  const Position& durable() const { return shared_->durable; }
  void resume(uint64_t time) { shared_->durable.store(time); }

  /// Waits for one of `bound` credits, and helps meanwhile.
  void take_credit() {
    while (!machine_.skips(Site{"persist.credit"})) {
      // Relaxed: the compare-exchange repeats the load.
      uint64_t used = shared_->credits.load(std::memory_order_relaxed);
      if (used < bound_) {
        if (shared_->credits.compare_exchange(used, used + 1)) {
          return;
        }
      } else {
        M::reach(Probe{"persist.credit_wait"});
        help([&] { return shared_->credits.load(std::memory_order_relaxed) >= bound_; });
      }
    }
  }
  void return_credits(uint64_t n) {
    if (n > 0 && !machine_.skips(Site{"persist.credit"})) {
      shared_->credits.fetch_add(uint64_t{0} - n);
    }
  }

  /// Leaves the block of the transaction with this time, and takes another one's memory for it.
  /// Waits while the queue is full. The transaction's stores are visible.
  void put(uint64_t time, CommitBlock& block, bool has_credit) {
    if (time > entries() && shared_->durable.load() < time - entries()) {
      M::reach(Probe{"persist.queue_full"});
    }
    await_durable(time <= entries() ? 0 : time - entries());
    Entry& entry = blocks_[time % entries()];
    std::swap(entry.block, block);
    entry.has_credit = has_credit;
    // Relaxed: only statistics load it.
    filled_[time % entries()].since.store(machine_.now(), std::memory_order_relaxed);
    // Release: the thread that persists the block sees it, and the transaction's stores.
    filled_[time % entries()].time.store(time, std::memory_order_release);
  }

  /// Returns when everything up to this time is durable. A transaction has taken that time.
  void await(uint64_t time, Site site) {
    if (!machine_.skips(site)) {
      await_durable(time);
    }
  }

  /// As await(). The planted bug spares a transaction whose predecessors are durable.
  void await_behind_others(uint64_t time, Site site) {
    const auto is_next = [&] { return shared_->durable.load() + 1 == time; };
    if (!machine_.skips(site) || is_next()) {
      await_durable(time);
    }
  }

  /// Returns the pending updates, if `last` is the time of the last one.
  PendingUpdates pending(uint64_t last) const {
    const uint64_t done = shared_->durable.load(std::memory_order_acquire);
    if (last <= done) {
      return {};
    }
    const uint64_t now = machine_.now();
    const uint64_t since = filled_[(done + 1) % entries()].since.load(std::memory_order_relaxed);
    const bool there = is_filled(done + 1) && since <= now;
    return {.count = last - done, .age = there ? now - since : 0};
  }

  /// Persists the next blocks. Returns false if there is none, or if another thread is at it.
  bool persist() {
    if (!is_filled(shared_->durable.load(std::memory_order_acquire) + 1) || !lock_.try_lock()) {
      return false;
    }
    const bool some = persist_if_possible();
    lock_.unlock();
    return some;
  }

 private:
  static constexpr uint64_t kBatch = 64;  // blocks for one fence
  static constexpr uint64_t entries() { return 256; }

  struct alignas(kMaxLineBytes) Shared {
    Position durable{};
    alignas(kMaxLineBytes) Position credits{};  // in use
  };
  struct alignas(kMaxLineBytes) Filled {
    Position time{};   // of the block in the entry
    Position since{};  // when it was put there, in units of now()
  };
  /// Protected by the entry's time.
  struct Entry {
    CommitBlock block;
    bool has_credit = false;
  };

  struct Word {
    uint64_t offset;
    uint64_t value;
  };

  /// Acquire: pairs with put().
  bool is_filled(uint64_t time) const {
    return filled_[time % entries()].time.load(std::memory_order_acquire) == time;
  }

  void await_durable(uint64_t time) {
    // Acquire: the caller may reuse the entries up to the durable time.
    const auto missing = [&] { return shared_->durable.load(std::memory_order_acquire) < time; };
    while (missing()) {
      help(missing);
    }
  }

  /// Persists the next blocks, or waits until they are there. If `missing` returns true under the
  /// lock, a transaction has taken a time that is not durable. It waits for no other one before it
  /// leaves its block. Otherwise another thread has just persisted the block that the caller needs,
  /// and no further one may ever come.
  template <class Missing>
  void help(const Missing& missing) {
    if (!lock_.lock_or_wait()) {
      return;
    }
    const uint64_t next = shared_->durable.load(std::memory_order_relaxed) + 1;
    const bool waits = !persist_if_possible() && missing();
    lock_.unlock();
    Position& filled = filled_[next % entries()].time;
    // A larger time: others have persisted the block, and the entry has another one.
    if (const uint64_t seen = filled.load(std::memory_order_acquire); waits && seen < next) {
      M::reach(Probe{"persist.awaits_block"});
      machine_.wait_while(filled, seen);
    }
  }

  /// Persists the next blocks. Without memory it persists none, and the caller tries again: the
  /// transactions that wait for it have committed.
  bool persist_if_possible() {
    words_.clear();
    try {
      return persist_next();
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  bool persist_next() {
    const PhaseScope<M> scope(Phase::log_flush);
    const int slot = machine_.self();
    // Relaxed: only the lock's holder stores to it.
    const uint64_t first = shared_->durable.load(std::memory_order_relaxed) + 1;
    uint64_t next = first;
    uint64_t credits = 0;
    size_t bytes = 0;  // of blocks that are not in the log yet
    for (; next < first + kBatch && is_filled(next); ++next) {
      Entry& entry = blocks_[next % entries()];
      bytes = (combines_ ? bytes : 0) + entry.block.bytes();
      if (next == first) {
        logs_.make_room(slot, bytes);
      } else if (!logs_.has_room(slot, bytes)) {
        M::reach(Probe{"persist.no_room"});
        break;  // room is made from durable blocks
      }
      if (combines_) {
        entry.block.for_each_word(
            [&](uint64_t offset, uint64_t value) { words_.push_back({offset, value}); });
      } else {
        logs_.write(slot, entry.block, next, Site{"persist.log"});
        logs_.advance(slot, entry.block);
      }
      credits += entry.has_credit ? 1 : 0;
    }
    if (next == first) {
      return false;
    }
    if (next == first + kBatch) {
      M::reach(Probe{"persist.full_batch"});
    }
    if (combines_) {
      combine();
      logs_.write(slot, combined_, next - 1, Site{"persist.log"}, next - first);
      logs_.advance(slot, combined_);
    }
    // Separates the blocks from the durable time, which lets callers return, and from the home.
    machine_.pfence(Site{"persist.log.fence"});
    logs_.show_head(slot);
    // Release: pairs with await_durable(), and with the thread that reclaims the blocks.
    shared_->durable.store(next - 1, std::memory_order_release);
    return_credits(credits);
    return true;
  }

  /// Fills the combined block with the last value of each of the words. They take no more room
  /// there than in their own blocks.
  void combine() {
    std::stable_sort(words_.begin(), words_.end(),
                     [](const Word& a, const Word& b) { return a.offset < b.offset; });
    combined_.clear();
    for (size_t i = 0; i < words_.size(); ++i) {
      const bool last = i + 1 == words_.size() || words_[i + 1].offset != words_[i].offset;
      if (last) {
        combined_.add(words_[i].offset, words_[i].value);
      }
    }
    combined_.reserve_end();
    words_.clear();
  }

  M& machine_;
  StampedLogs<M>& logs_;
  const uint64_t bound_;
  const bool combines_;
  RoundLock<M> lock_;
  Shared* shared_;
  Filled* filled_;
  std::vector<Entry> blocks_;
  // Belong to the lock's holder.
  std::vector<Word> words_;
  CommitBlock combined_;
};

}  // namespace holdfast
