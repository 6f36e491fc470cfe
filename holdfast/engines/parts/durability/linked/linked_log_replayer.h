// SPDX-License-Identifier: Apache-2.0
//
// Replays linked logs (linked_log.h) to the heap's home, in the order of the transactions' time
// stamps. There are two ways to find the next transaction:
//
//   links   follow the link of the last replayed transaction (SPHT's forward linking); if the link
//           is missing, scan
//   scan    take the oldest among the next transactions of all logs (NV-HTM, and all systems before
//           SPHT)
//
// One thread replays at a time: the background thread, a thread that finds its log full, or the
// thread that closes the heap. While transactions run, a transaction is replayed once it is
// settled: durable, and done with linking.
//
//   batch   records -> home, pwb; pfence; table, pwb; pfence; its space is free
//
// No older transaction can appear later. The bound is the newest time of a settled transaction, and
// a transaction settles only after the logs of all older transactions are complete.
//
// Links. A transaction that settles stores a link to itself into the record of its predecessor in
// time. That record may have been replayed already, but then it is the last one replayed. The line
// with its link is kept until its successor has been replayed, which has stored the link by then.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/round_lock.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/durability/linked/linked_log.h"
#include "holdfast/engines/parts/durability/linked/replay_order.h"
#include "holdfast/engines/parts/durability/linked/replay_table.h"
#include "holdfast/engines/parts/durability/replay/sharded_replay.h"

namespace holdfast {

/// Thread safety: any thread may call the functions that replay; RoundLock admits one at a time.
/// recover() and format() need all other threads to be out. Replayed transactions are durable in
/// the home at return.
template <class M>
class LinkedLogReplayer {
 public:
  using Word = typename M::template Atomic<uint64_t>;

  /// The part of the logs that is valid after a crash.
  struct Bound {
    uint64_t time = std::numeric_limits<uint64_t>::max();  ///< transactions up to it are valid
    bool exact = false;  ///< a transaction with that time exists, or has been replayed
  };

  LinkedLogReplayer(M& machine, const Regions& regions, LinkedLogArea<M>& logs,
                    std::byte* table_base, ReplayOrder order, SlotStatistics<M>& statistics)
      : machine_(machine),
        regions_(regions),
        logs_(logs),
        table_(machine, table_base, logs.count),
        order_(order),
        statistics_(statistics),
        lock_(machine),
        threads_(make_array<Published>(machine, static_cast<size_t>(logs.count))),
        sharded_(machine),
        next_(static_cast<size_t>(logs.count)) {
    words_.reserve(logs.bytes / sizeof(uint64_t));  // a round cannot be begun again
  }

  const Word* freed(int thread) const { return &threads_[thread].freed; }
  /// replay_alone() needs the size.
  void grown(size_t bytes) { regions_.bytes = bytes; }
  /// For engines whose settled transactions say nothing about older ones: `bound` returns the time
  /// up to which no transaction can appear any more.
  void bound_by(std::function<uint64_t()> bound) { bound_ = std::move(bound); }
  void request() { lock_.request(); }

  void format() {
    progress_ = {0, 1, 0, std::vector<uint64_t>(next_.size())};
    table_.write(progress_, Site{"pht.format"}, Site{"pht.format.fence"});
    formatted_ = true;
  }

  /// Announces that a transaction's log is complete, header included. Release: a thread that sees
  /// this sees the record.
  void logged(const LinkedRecord& r) {
    threads_[r.thread].logged_end.store(r.end(), std::memory_order_release);
  }
  /// Announces that a transaction is durable and that its thread stores nothing more for it.
  /// Release, both: a thread that sees the time also sees the record settled, and all older
  /// transactions logged.
  void settled(const LinkedRecord& r) {
    threads_[r.thread].settled_end.store(r.end(), std::memory_order_release);
    threads_[r.thread].settled_time.store(r.time, std::memory_order_release);
  }

  /// Replays, or waits for the thread that does, until `enough()`. The caller's transaction has
  /// settled, and it holds nothing that another transaction waits for.
  template <class Enough>
  void make_room(Enough&& enough) {
    while (!enough()) {
      if (!lock_.lock_or_wait()) {
        M::reach(Probe{"pht.replay.room_by_other"});
        continue;
      }
      const size_t done = replay(kBatch);
      const std::optional<LinkedRecord> blocked = blocked_on_;
      lock_.unlock();
      if (done == 0 && blocked) {
        M::reach(Probe{"pht.replay.room_awaits_owner"});
        await_settled(*blocked);
      } else if (done == 0) {
        machine_.pause();
      }
    }
  }

  /// One round of the background thread. Returns false if there was nothing to do.
  bool background() {
    return lock_.background([&] { return replay(kBatch) > 0; });
  }

  /// Replays everything while no transaction runs. Returns false if a transaction has not settled.
  bool replay_all() {
    lock_.lock();
    while (replay(kBatch) > 0) {
    }
    const bool complete = nothing_left(next_);
    lock_.unlock();
    return complete;
  }

  /// The same work on threads of its own (log_replay.h).
  Result<ReplayReport> replay_alone(const ReplayOptions& options);

  /// Checks all logs, replays them up to the bound, and begins a new epoch. Returns the newest time
  /// found. Reads no log of a heap that was closed or has just been formatted.
  Result<uint64_t> recover(const Bound& bound, RecoveryReport& report, int replayers);

  /// The most replayers that the machine has slots for.
  int most_replayers() const { return sharded_.most(); }

 private:
  static constexpr size_t kBatch = 256;
  static constexpr uint64_t kScanBytes = 4096;  ///< read at a time in the search for headers

  struct alignas(kMaxLineBytes) Published {
    Word logged_end{};
    Word settled_end{};
    Word settled_time{};
    alignas(kMaxLineBytes) Word freed{};
  };

  uint64_t& next(int t) { return next_[static_cast<size_t>(t)]; }
  /// Acquire: pairs with settled().
  uint64_t settled_end(int t) const {
    return threads_[t].settled_end.load(std::memory_order_acquire);
  }

  void await_settled(const LinkedRecord& r) {
    const Word& word = threads_[r.thread].settled_time;
    uint64_t time = word.load(std::memory_order_acquire);
    while (time < r.time) {
      time = machine_.wait_while(word, time);
    }
  }

  /// The first position of each log that has not been replayed.
  using Positions = std::vector<uint64_t>;
  /// Result of one replayer's walk in replay_alone().
  struct Walked {
    uint64_t transactions = 0;
    bool complete = true;
    Positions next;
    std::optional<LinkedRecord> last;
  };

  /// Acquire: the records before this position are complete.
  uint64_t logged_end(int t) const {
    return threads_[t].logged_end.load(std::memory_order_acquire);
  }
  bool nothing_left(const Positions& next) const {
    for (int t = 0; t < logs_.count; ++t) {
      if (next[static_cast<size_t>(t)] != logged_end(t)) {
        return false;
      }
    }
    return true;
  }

  size_t replay(size_t limit);
  uint64_t settled_bound() const;
  std::optional<LinkedRecord> follow(const std::optional<LinkedRecord>& last,
                                     const Positions& next) const;
  std::optional<LinkedRecord> oldest(const Positions& next) const;
  Walked walk(ReplayShard<M>& shard) const;
  void finish(const Walked& walked);
  void persist_progress();
  uint64_t apply(const LinkedRecord& record, bool to_working_copy, Site site);
  void free_space();

  Status collect(int thread, uint64_t start, const Bound& bound, std::vector<LinkedRecord>& live);
  Status verify(const LinkedRecord& record);
  void apply_all(const std::vector<LinkedRecord>& live, RecoveryReport& report);
  Status apply_sharded(const std::vector<LinkedRecord>& live, int replayers,
                       RecoveryReport& report);
  void begin_epoch(uint64_t last);
  static Status damaged(const std::string& what) {
    return {Code::corrupt, what + "; the heap was left as it is, restore it from a copy"};
  }

  M& machine_;
  Regions regions_;
  LinkedLogArea<M>& logs_;
  ReplayTable<M> table_;
  const ReplayOrder order_;
  std::function<uint64_t()> bound_;
  SlotStatistics<M>& statistics_;
  RoundLock<M> lock_;
  Published* threads_;
  // Belong to the lock's holder.
  ShardedReplay<M> sharded_;
  Positions next_;
  ReplayProgress progress_;
  std::optional<LinkedRecord> last_;
  std::optional<LinkedRecord> blocked_on_;
  bool formatted_ = false;  ///< the logs are new
  std::vector<uint64_t> words_;
  std::vector<uint64_t> payload_;  // of the record that recovery verifies
};

}  // namespace holdfast

#include "holdfast/engines/parts/durability/linked/linked_log_alone-inl.h"
#include "holdfast/engines/parts/durability/linked/linked_log_recover-inl.h"
#include "holdfast/engines/parts/durability/linked/linked_log_replay-inl.h"
