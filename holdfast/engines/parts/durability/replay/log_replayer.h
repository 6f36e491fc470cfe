// SPDX-License-Identifier: Apache-2.0
//
// The log replayer (FUR 3.3) brings the heap's home up to date from the redo logs, in the order of
// the durability markers. That frees log space and markers. It runs in the background, in a thread
// that finds its log full, when a heap is closed, and at recovery.
//
//   batch   markers from the tail on; records -> home, pwb; pfence; tail, pwb; pfence; space and
//           slots are free
//
// While transactions run, the replayer stops at the first number without a durable marker. That
// transaction is in flight and will become durable later. Only recovery, when no transaction is in
// flight, skips such holes. It looks at all slots, so it does not depend on the number of holes.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/round_lock.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/durability/replay/durability_markers.h"
#include "holdfast/engines/parts/durability/replay/redo_log.h"
#include "holdfast/engines/parts/durability/replay/sharded_replay.h"
#include "holdfast/engines/parts/durability/replay/state_array.h"
#include "holdfast/engines/parts/durability/replay/tail_word.h"

namespace holdfast {

/// Thread safety: any thread may call the functions that replay; a lock inside admits one at a
/// time. recover() and format() need all other threads to be out. Replayed transactions
/// are durable in the home at return.
template <class M>
class LogReplayer {
 public:
  using Position = typename M::template Atomic<uint64_t>;

  LogReplayer(M& machine, const Regions& regions, uint64_t* tail_word,
              DurabilityMarkers<M>& markers, const RedoLogArea& logs, StateArray<M>& states,
              SlotStatistics<M>& statistics)
      : machine_(machine),
        regions_(regions),
        tail_word_(tail_word),
        markers_(markers),
        logs_(logs),
        states_(states),
        statistics_(statistics),
        lock_(machine),
        shared_(make_object<Shared>(machine)),
        freed_(make_array<Freed>(machine, static_cast<size_t>(logs.count))),
        sharded_(machine) {}

  /// The last number up to which everything has been replayed, durably. Acquire: a store to a freed
  /// slot comes after the replayer's loads from it.
  uint64_t tail() const { return shared_->tail.load(std::memory_order_acquire); }
  const Position* freed(int thread) const { return &freed_[thread].position; }

  static uint64_t seed(uint64_t number, int thread) {
    return mix64(number) + static_cast<uint64_t>(thread);
  }

  void format() {
    M::store(tail_word_, encode_tail(0));
    machine_.pwb(tail_word_, Site{"replay.format"});
  }

  /// Asks the background thread for work.
  void request() { lock_.request(); }

  /// One round of the background thread. Returns false if there was nothing to do.
  bool background() {
    return lock_.background([&] { return replay(kBatch) > 0; });
  }

  /// Replays, or waits for the thread that does, until `enough()`. The caller must be able to wait
  /// for any transaction in flight: it is not ACTIVE and holds neither a number nor the global
  /// lock.
  template <class Enough>
  void make_room(int self, Enough&& enough) {
    while (!enough()) {
      if (!lock_.lock_or_wait()) {
        M::reach(Probe{"replay.room_by_other"});
        continue;
      }
      const size_t done = lock_.finish([&] { return replay(kBatch); });
      if (done == 0 && !states_.await_number(self, tail() + 1)) {
        M::reach(Probe{"replay.room_without_owner"});
        machine_.pause();
      }
    }
  }

  /// Replays everything up to `last` while no transaction runs. Returns false if a number has no
  /// marker.
  bool replay_all(uint64_t last) {
    bool complete = true;
    lock_.lock();
    while (tail() < last && complete) {
      complete = replay(kBatch) > 0;
    }
    lock_.unlock();
    return complete;
  }

  /// The same work on threads of its own (log_replay.h).
  Result<ReplayReport> replay_alone(uint64_t last, const ReplayOptions& options);

  /// Checks all markers and logs, then replays those beyond the tail. Returns the last number seen.
  Result<uint64_t> recover(RecoveryReport& report, int replayers);

  /// The most replayers that the machine has slots for.
  int most_replayers() const { return sharded_.most(); }

  /// replay_alone() needs the size.
  void grown(size_t bytes) { regions_.bytes = bytes; }

 private:
  static constexpr size_t kBatch = 256;

  struct alignas(kMaxLineBytes) Shared {
    Position tail{};
  };
  struct alignas(kMaxLineBytes) Freed {
    Position position{};
  };

  /// Result of one replayer's walk in replay_alone(): its length, and the log space that it frees.
  struct Walked {
    uint64_t transactions = 0;
    bool complete = true;
    std::vector<uint64_t> freed;  // bytes, by thread
  };

  size_t replay(size_t limit);
  void collect(size_t limit);
  std::optional<DurabilityMarker> settled(uint64_t number) const;
  Walked walk(ReplayShard<M>& shard, uint64_t last) const;
  void finish(const Walked& walked, uint64_t last);
  Result<uint64_t> recover_sharded(const std::vector<DurabilityMarker>& live, int replayers,
                                   RecoveryReport& report);
  uint64_t apply(const DurabilityMarker& marker, bool to_working_copy, Site site);
  void persist_tail(uint64_t tail, Site site, Site fence);

  Result<std::vector<DurabilityMarker>> live_markers(uint64_t tail) const;
  Status verify(const DurabilityMarker& marker);
  static Status damaged(const std::string& what) {
    return {Code::corrupt, what + "; the heap was left as it is, restore it from a copy"};
  }

  M& machine_;
  Regions regions_;
  uint64_t* tail_word_;
  DurabilityMarkers<M>& markers_;
  RedoLogArea logs_;
  StateArray<M>& states_;
  SlotStatistics<M>& statistics_;
  RoundLock<M> lock_;
  Shared* shared_;
  Freed* freed_;
  // Belong to the lock's holder.
  ShardedReplay<M> sharded_;
  std::vector<uint64_t> peeked_;
  std::vector<DurabilityMarker> batch_;
  std::vector<uint64_t> words_;
};

/// Collects the next durable markers with consecutive numbers in batch_.
template <class M>
void LogReplayer<M>::collect(size_t limit) {
  const uint64_t first = tail() + 1;
  limit = std::min<size_t>(limit, markers_.count());
  peeked_.clear();
  batch_.clear();
  const bool jumps = machine_.skips(Site{"replay.hole"});
  while (peeked_.size() < limit) {
    const uint64_t valid = markers_.peek(first + peeked_.size());
    if (valid == 0 && !jumps) {
      break;
    }
    peeked_.push_back(valid);
  }
  if (peeked_.empty()) {
    return;
  }
  // Separates the loads of the slots' words 0 from the loads of their words 1 to 3.
  machine_.fence(Site{"replay.scan"});
  for (size_t i = 0; i < peeked_.size(); ++i) {
    const auto marker = markers_.read(first + i, peeked_[i]);
    if (!marker || marker->number != first + i) {
      if (jumps) {
        continue;
      }
      M::reach(Probe{"replay.earlier_lap"});
      return;  // an earlier lap's marker, or one that is being replaced
    }
    // A stored marker may not be durable yet. If it were replayed, a crash could keep the home's
    // new bytes and lose the marker: half a transaction. The owner announces when it is durable.
    if (!machine_.skips(Site{"replay.owner"}) && states_.works_on(marker->thread, marker->number)) {
      M::reach(Probe{"replay.not_durable"});
      return;
    }
    batch_.push_back(*marker);
  }
}

template <class M>
size_t LogReplayer<M>::replay(size_t limit) {
  const PhaseScope<M> scope(Phase::replay);
  collect(limit);
  if (batch_.empty()) {
    return 0;
  }
  if (batch_.size() == kBatch) {
    M::reach(Probe{"replay.full_batch"});
  }
  auto& counts = statistics_.at(machine_.self());
  uint64_t bytes = 0;
  uint64_t transactions = 0;
  for (const DurabilityMarker& marker : batch_) {
    bytes += apply(marker, false, Site{"replay.home"});
    transactions += marker.aborted ? 0 : 1;
  }
  if (bytes > 0) {
    // Separates the home from the tail: the home is durable before the tail covers it.
    machine_.pfence(Site{"replay.home.fence"});
  }
  persist_tail(batch_.back().number, Site{"replay.tail"}, Site{"replay.tail.fence"});
  for (const DurabilityMarker& marker : batch_) {
    if (!marker.aborted && !logs_.is_lent(marker.start)) {
      Position& position = freed_[marker.thread].position;
      // Relaxed: only the lock's holder writes it. Release: the owner may overwrite the log space
      // after this thread's loads from it.
      const uint64_t before = position.load(std::memory_order_relaxed);
      position.store(before + RedoLog<M>::taken(machine_, marker.bytes), std::memory_order_release);
    }
  }
  counts.replayed += transactions;
  counts.bytes_written += bytes;
  return batch_.size();
}

/// Stores the tail and makes it durable before any space or slot up to it is reused.
template <class M>
void LogReplayer<M>::persist_tail(uint64_t tail, Site site, Site fence) {
  M::store(tail_word_, encode_tail(tail));
  machine_.pwb(tail_word_, site);
  // Separates the tail from the reuse of the space up to it.
  machine_.pfence(fence);
  // Release: pairs with tail(). Threads may store to slots up to it from now on.
  shared_->tail.store(tail, std::memory_order_release);
}

/// Copies a transaction's values into the home and begins to write them back. Returns their bytes.
template <class M>
uint64_t LogReplayer<M>::apply(const DurabilityMarker& marker, bool to_working_copy, Site site) {
  if (marker.aborted) {
    M::reach(Probe{"replay.aborted"});
    return 0;
  }
  uint64_t bytes = 0;
  logs_.template read<M>(marker.thread, marker.start, marker.bytes, words_);
  for_each_record(words_.data(), words_.size(), [&](RedoRecord record, const uint64_t* payload) {
    M::copy(regions_.home + record.offset, payload, record.bytes);
    machine_.pwb_range(regions_.home + record.offset, record.bytes, site);
    if (to_working_copy) {
      M::copy(regions_.data + record.offset, payload, record.bytes);
    }
    bytes += record.bytes;
  });
  return bytes;
}

template <class M>
Result<uint64_t> LogReplayer<M>::recover(RecoveryReport& report, int replayers) {
  const PhaseScope<M> scope(Phase::replay);
  const auto tail = decode_tail(M::load(tail_word_));
  if (!tail) {
    return damaged("the replay tail in the engine area is damaged");
  }
  auto live = live_markers(*tail);
  if (!live) {
    return live.status();
  }
  for (const DurabilityMarker& marker : *live) {
    if (Status status = verify(marker); !status.ok()) {
      return status;
    }
  }
  // Only stores from here on. The tail moves last, so recovery after a crash repeats the stores.
  if (replayers > 1 && !live->empty()) {
    M::reach(Probe{"recover.sharded"});
    return recover_sharded(*live, replayers, report);
  }
  uint64_t last = *tail;
  for (const DurabilityMarker& marker : *live) {
    // The working copy was mapped before the home changed, so it may lack these values.
    report.bytes +=
        apply(marker, !machine_.skips(Site{"recover.working_copy"}), Site{"recover.home"});
    report.transactions += marker.aborted ? 0 : 1;
    if (marker.number != last + 1) {
      M::reach(Probe{"recover.gap"});
    }
    last = marker.number;
  }
  shared_->tail.store(last, std::memory_order_relaxed);  // no other thread runs yet
  if (!live->empty()) {
    report.needed = true;
    // Separates the home from the tail: the home is durable before the tail covers it.
    machine_.pfence(Site{"recover.home.fence"});
    persist_tail(last, Site{"recover.tail"}, Site{"recover.tail.fence"});
  }
  return last;
}

/// Markers beyond the tail, in order. Fails unless every slot is empty or holds a number of its
/// own.
template <class M>
Result<std::vector<DurabilityMarker>> LogReplayer<M>::live_markers(uint64_t tail) const {
  std::vector<DurabilityMarker> live;
  std::optional<uint64_t> wrong;
  markers_.for_each_at_rest([&](uint64_t slot, const DurabilityMarker& marker) {
    const uint64_t number = marker.number;
    // The tail makes room for a number before a thread takes it.
    if (number == 0 || number % markers_.count() != slot || number > tail + markers_.count()) {
      wrong = wrong.value_or(slot);
    } else if (number > tail) {
      live.push_back(marker);
    }
  });
  if (wrong) {
    return damaged("durability marker " + std::to_string(*wrong) + " is damaged");
  }
  if (machine_.skips(Site{"recover.sort"})) {
    return live;
  }
  std::sort(live.begin(), live.end(), [](const DurabilityMarker& a, const DurabilityMarker& b) {
    return a.number < b.number;
  });
  return live;
}

template <class M>
Status LogReplayer<M>::verify(const DurabilityMarker& marker) {
  if (marker.aborted) {
    return {};
  }
  const std::string what = "the redo log of transaction " + std::to_string(marker.number);
  const bool lent = logs_.is_lent(marker.start) && logs_.home != nullptr;
  const uint64_t start = lent ? marker.start - logs_.bytes : marker.start;
  const uint64_t end = lent ? regions_.bytes : logs_.bytes;
  // Records in a thread's log may wrap around.
  const uint64_t room = lent ? end - std::min(start, end) : end;
  if (marker.thread >= logs_.count || start >= end || marker.bytes > room || marker.bytes == 0 ||
      marker.bytes % 8 != 0) {
    return damaged(what + " lies outside the log");
  }
  logs_.template read<M>(marker.thread, marker.start, marker.bytes, words_);
  if (holdfast::checksum(words_.data(), marker.bytes, seed(marker.number, marker.thread)) !=
      marker.checksum) {
    return damaged(what + " fails its checksum");
  }
  bool inside = true;
  const bool whole =
      for_each_record(words_.data(), words_.size(), [&](RedoRecord record, const uint64_t*) {
        inside = inside && record.offset < regions_.bytes &&
                 record.bytes <= regions_.bytes - record.offset;
      });
  return whole && inside ? Status() : damaged(what + " stores outside the heap's data");
}

}  // namespace holdfast

#include "holdfast/engines/parts/durability/replay/log_replayer_alone-inl.h"
