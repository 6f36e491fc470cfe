// SPDX-License-Identifier: Apache-2.0
//
// Logs of commit blocks, one per thread, whose order over all threads is that of their timestamps.
// Common to engines whose commits take a time of a version clock while they own what they store to.
//
//   tail      one line per log: upto, start. Everything up to time `upto` is in the home, durably;
//             the scan of the log begins at position `start`. Positions count bytes and never wrap.
//   reclaim   oldest blocks of transactions that are complete -> home lines, pwb -> pfence ->
//   tails,
//             pwb -> pfence -> their space is free
//   recover   from each start on, blocks up to the first that is none; those newer than the newest
//             `upto`, in the order of their timestamps -> home, pwb -> pfence -> tails, pwb ->
//             pfence -> what was none becomes empty, pwb -> pfence
//
// Why `upto`, and why its newest value counts for all logs: blocks are reclaimed in the order of
// time, but the tails of several logs persist one by one. A block that is left in one log, although
// a newer one of the same address is gone from another, must not be replayed over it. `upto` is
// stored before `start` in the same line, so no log's scan begins behind a block that no `upto`
// covers.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/ownership_table.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/durability/replay/durability_markers.h"
#include "holdfast/engines/parts/durability/replay/redo_log.h"
#include "holdfast/engines/parts/durability/stamped/commit_block.h"
#include "holdfast/engines/parts/durability/stamped/stamped_logs_area.h"

namespace holdfast {

/// A transaction's way through its log:
///   make_room, announce, take a time, [write, pfence, store in place,] complete
template <class M>
class StampedLogs {
 public:
  using Position = typename M::template Atomic<uint64_t>;

  /// What recovery does where a time is missing.
  enum class Gaps : uint8_t {
    skip,  ///< that transaction was never visible
    stop,  ///< what comes later may build on it
  };

  StampedLogs(M& machine, const Regions& regions, const StampedLogsArea& area, uint64_t magic,
              Gaps gaps, VersionClock<M>& clock, SlotStatistics<M>& statistics)
      : machine_(machine),
        regions_(regions),
        area_(area),
        magic_(magic),
        gaps_(gaps),
        clock_(clock),
        statistics_(statistics),
        logs_{regions.area + area.log_offset, area.log_bytes, area.logs},
        shared_(make_array<Shared>(machine, 1)),
        owners_(make_array<Owner>(machine, static_cast<size_t>(area.logs))),
        freed_(make_array<Freed>(machine, static_cast<size_t>(area.logs))),
        cursors_(static_cast<size_t>(area.logs)) {
    for (int slot = 0; slot < area.logs; ++slot) {
      redo_.emplace_back(machine, logs_, slot, &freed_[slot].position);
    }
  }

  uint64_t log_bytes() const { return area_.log_bytes; }

  Status format();
  Status recover(RecoveryReport& report);
  void grown(size_t bytes) { regions_.bytes = bytes; }

  // ---- the owner of a log, in a commit

  /// Throws Error if the log could never hold so much.
  void make_room(int slot, size_t bytes);

  /// From here to complete() or retract() nothing newer than now counts as complete. Relaxed: the
  /// read-modify-write on the clock that follows releases it to whoever sees the time it takes.
  void announce(int slot) {
    owners_[slot].since.store(clock_.now.load(std::memory_order_relaxed) + 1,
                              std::memory_order_relaxed);
  }
  /// The time it was: nobody needs to wait for an older one any more.
  void announce_time(int slot, uint64_t time) {
    owners_[slot].since.store(time, std::memory_order_release);
  }

  /// Seals the block and puts it into the log; the caller fences.
  void write(int slot, CommitBlock& block, uint64_t time, Site site) {
    RedoLog<M>& log = redo_[static_cast<size_t>(slot)];
    block.seal(time, seed(slot, log.head()));
    log.write(block.words(), block.bytes(), site);
    statistics_.at(slot).bytes_written += block.bytes();
  }

  /// The block is durable, and what the engine does beside it is done. Release: whoever finds the
  /// transaction complete sees its block and its stores.
  void complete(int slot, const CommitBlock& block) {
    RedoLog<M>& log = redo_[static_cast<size_t>(slot)];
    log.advance(block.bytes());
    owners_[slot].head.store(log.head(), std::memory_order_release);
    owners_[slot].since.store(0, std::memory_order_release);
  }

  /// There is no block after all.
  void retract(int slot) { owners_[slot].since.store(0, std::memory_order_release); }

  /// Waits until every other transaction up to `time` is complete. Who calls saw `time` from one
  /// whose read-modify-write on the clock came after those of all before it, and so sees what they
  /// announced.
  void await_complete(int self, uint64_t time, Site site) {
    const int n = machine_.skips(site) ? 0 : scan_end();
    for (int s = 0; s < n; ++s) {
      const Position& since = owners_[s].since;
      uint64_t seen = since.load(std::memory_order_acquire);
      while (s != self && seen != 0 && seen <= time) {
        seen = machine_.wait_while(since, seen);
      }
    }
  }

  // ---- reclaiming

  /// One turn of the background thread. False: there was nothing to do.
  bool background() {
    // Relaxed: only a hint.
    if (shared_->wanted.load(std::memory_order_relaxed) == 0 || !try_lock()) {
      return false;
    }
    const bool found = reclaim(kBatch) > 0;
    unlock();
    if (!found) {
      shared_->wanted.store(0, std::memory_order_relaxed);
    }
    return found;
  }

  /// Everything, when no transaction is running. False: one is.
  bool reclaim_all();

 private:
  static constexpr size_t kBatch = 256;
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  struct alignas(2 * kLineBytes) Shared {
    Position lock{};
    Position wanted{};
  };
  /// Written by the owner of the log.
  struct alignas(2 * kLineBytes) Owner {
    Position since{};  ///< at or below the time of the transaction in flight; 0: none
    Position head{};   ///< complete blocks end here
  };
  /// Written by who reclaims.
  struct alignas(2 * kLineBytes) Freed {
    Position position{};
  };
  /// A walk over one log.
  struct Cursor {
    uint64_t position = 0;
    uint64_t end = 0;
    uint64_t time = kNone;        ///< of the block there; kNone: there is none
    std::vector<uint64_t> words;  ///< of the block there
  };
  struct Found {
    uint64_t time;
    int slot;
    uint64_t position;
  };

  static uint64_t seed(int slot, uint64_t position) {
    return mix64(position) + static_cast<uint64_t>(slot);
  }
  int scan_end() const { return std::min(machine_.active_slots(), area_.logs); }
  bool in_place() const { return regions_.home == regions_.data; }
  uint64_t* tail(int slot) const {
    return reinterpret_cast<uint64_t*>(regions_.area + area_.tail_offset +
                                       static_cast<size_t>(slot) * kLineBytes);
  }

  bool try_lock() {
    uint64_t expected = 0;
    return shared_->lock.compare_exchange(expected, 1);
  }
  /// Release: the next holder sees this one's batch as done.
  void unlock() { shared_->lock.store(0, std::memory_order_release); }

  size_t reclaim(size_t limit);
  uint64_t complete_until() const;
  Cursor* oldest();
  void look(Cursor& cursor, int slot, bool trusted);
  void step(Cursor& cursor, int slot, bool trusted);
  uint64_t apply(const std::vector<uint64_t>& words, bool store, bool to_working_copy);
  void write_back_lines(Site site);
  void persist_tails(uint64_t upto, Site site, Site fence);

  Status scan(uint64_t& upto, std::vector<Found>& found);
  void empty_ends();
  bool inside(const std::vector<uint64_t>& words) const;
  static Status damaged(const std::string& what) {
    return {Code::corrupt, what + "; the heap was left as it is, restore it from a copy"};
  }

  M& machine_;
  Regions regions_;
  const StampedLogsArea area_;
  const uint64_t magic_;
  const Gaps gaps_;
  VersionClock<M>& clock_;
  SlotStatistics<M>& statistics_;
  RedoLogArea logs_;
  Shared* shared_;
  Owner* owners_;
  Freed* freed_;
  std::vector<RedoLog<M>> redo_;
  // Belong to the holder of the lock.
  std::vector<Cursor> cursors_;
  std::vector<uint64_t> lines_;
};

}  // namespace holdfast

#include "holdfast/engines/parts/durability/stamped/stamped_logs_reclaim-inl.h"
#include "holdfast/engines/parts/durability/stamped/stamped_logs_recover-inl.h"
