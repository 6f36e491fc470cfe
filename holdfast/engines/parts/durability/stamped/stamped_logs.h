// SPDX-License-Identifier: Apache-2.0
//
// Logs of commit blocks, one per thread, which are ordered over all threads by their timestamps.
// For engines whose commits take a time of a version clock while they own the stripes they change.
//
//   tail      one line per log: upto, start. Everything up to time `upto` is durable in the home;
//             the log's scan begins at position `start`. Positions count bytes and never wrap.
//   reclaim   oldest blocks of complete transactions -> home lines, pwb; pfence; tails, pwb;
//             pfence; their space is free
//   recover   from each start on, blocks up to the first invalid one; of these, blocks newer than
//             the newest `upto`, in the order of their timestamps -> home, pwb; pfence; tails, pwb;
//             pfence; the invalid ends become empty, pwb; pfence
//
// Why there is `upto`, and why its newest value counts for all logs. Blocks are reclaimed in the
// order of time, but the tails of several logs persist one by one. One log may still have a block
// while a newer block for the same address is gone from another log. Replay must not overwrite the
// newer value. `upto` is stored before `start` in the same line. So no log's scan begins behind a
// block that no `upto` covers.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/ownership_table.h"
#include "holdfast/engines/parts/basics/round_lock.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/durability/replay/redo_log.h"
#include "holdfast/engines/parts/durability/replay/tail_word.h"
#include "holdfast/engines/parts/durability/stamped/commit_block.h"
#include "holdfast/engines/parts/durability/stamped/stamped_logs_area.h"

namespace holdfast {

/// The logs of one heap. A transaction calls, in this order,
///   make_room, announce, take a time, [write, pfence, store in place,] complete
///
/// Thread safety: a slot's functions are for that slot's thread; background() for any thread; the
/// others while no transaction runs. A transaction is durable after the caller's pfence behind
/// write(), if all earlier times are durable or may be missing (Gaps).
template <class M>
class StampedLogs {
 public:
  using Position = typename M::template Atomic<uint64_t>;

  /// Reaction of recovery to a missing time.
  enum class Gaps : uint8_t {
    skip,  ///< that transaction was never visible: replay later ones
    stop,  ///< later transactions may depend on it: discard them
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
        lock_(machine),
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

  // ---- For the owner of a log, in a commit.

  /// Throws Error if a log is too small for a block.
  void check_size(size_t bytes) const;
  /// Waits for room for a block. Throws Error if the log is too small for it.
  void make_room(int slot, size_t bytes);
  bool has_room(int slot, size_t bytes) const {
    return redo_[static_cast<size_t>(slot)].free_bytes() >= RedoLog<M>::taken(machine_, bytes);
  }

  /// From here to complete() or retract(), no later time counts as complete. Relaxed: the caller's
  /// read-modify-write on the clock comes next and releases this store to every thread that sees
  /// the time it takes.
  void announce(int slot) {
    owners_[slot].since.store(clock_.now.load(std::memory_order_relaxed) + 1,
                              std::memory_order_relaxed);
  }
  /// Narrows the announcement to the time taken: no thread waits for this one's older times any
  /// more. Release: as in complete().
  void announce_time(int slot, uint64_t time) {
    owners_[slot].since.store(time, std::memory_order_release);
  }

  /// Seals the block and writes it into the log. The caller fences. The block stands for so many
  /// transactions, whose times end with this one.
  void write(int slot, CommitBlock& block, uint64_t time, Site site, uint64_t transactions = 1) {
    RedoLog<M>& log = redo_[static_cast<size_t>(slot)];
    block.seal(time, seed(slot, log.head()), transactions);
    log.write(block.words(), block.bytes(), site);
    statistics_.at(slot).bytes_written += block.bytes();
  }

  // Instead of announcements: blocks of any transactions, in the order of their times.

  /// From now on everything up to `durable` counts as complete, and no announcement.
  void complete_up_to(const Position& durable) { durable_ = &durable; }
  /// Moves the log's end behind the block that was written.
  void advance(int slot, const CommitBlock& block) {
    redo_[static_cast<size_t>(slot)].advance(block.bytes());
  }
  /// Shows the durable blocks to the thread that reclaims. Release: it sees them.
  void show_head(int slot) {
    owners_[slot].head.store(redo_[static_cast<size_t>(slot)].head(), std::memory_order_release);
  }

  /// Announces that the block is durable and the engine's other stores are done. Release: a thread
  /// that finds the transaction complete sees its block and its stores.
  void complete(int slot, const CommitBlock& block) {
    RedoLog<M>& log = redo_[static_cast<size_t>(slot)];
    log.advance(block.bytes());
    owners_[slot].head.store(log.head(), std::memory_order_release);
    owners_[slot].since.store(0, std::memory_order_release);
  }

  /// Takes the announcement back: there is no block. Release: as in complete().
  void retract(int slot) { owners_[slot].since.store(0, std::memory_order_release); }

  /// Waits until every other transaction up to `time` is complete. The caller has seen `time` from
  /// a transaction whose read-modify-write on the clock came after those of all older ones. So it
  /// sees their announcements.
  void await_complete(int self, uint64_t time, Site site) {
    for (const int s : machine_.scan(area_.logs, site)) {
      const Position& since = owners_[s].since;
      // Acquire: pairs with complete().
      uint64_t seen = since.load(std::memory_order_acquire);
      while (s != self && seen != 0 && seen <= time) {
        seen = machine_.wait_while(since, seen);
      }
    }
  }

  // ---- Reclaiming.

  /// One round of the background thread. Returns false if there was nothing to do.
  bool background() {
    return lock_.background([&] { return reclaim(kBatch) > 0; });
  }

  /// Reclaims everything while no transaction is running. Returns false if one is.
  bool reclaim_all();

 private:
  static constexpr size_t kBatch = 256;
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  /// Stored to by the log's owner.
  struct alignas(kMaxLineBytes) Owner {
    Position since{};  ///< at most the time of the transaction in flight; 0: none
    Position head{};   ///< end of the complete blocks
  };
  /// Stored to by the thread that reclaims.
  struct alignas(kMaxLineBytes) Freed {
    Position position{};
  };
  /// A position in a walk over one log, and the block there.
  struct Cursor {
    uint64_t position = 0;
    uint64_t end = 0;
    uint64_t time = kNone;        ///< of the block; kNone: there is no block
    std::vector<uint64_t> words;  ///< of the block
  };
  /// Place of a block that recovery replays.
  struct BlockPlace {
    uint64_t time;
    int slot;
    uint64_t position;
    uint64_t transactions;  ///< with the times up to this one
  };

  static uint64_t seed(int slot, uint64_t position) {
    return mix64(position) + static_cast<uint64_t>(slot);
  }
  bool in_place() const { return regions_.home == regions_.data; }
  uint64_t* tail(int slot) const {
    return reinterpret_cast<uint64_t*>(regions_.area + area_.tail_offset +
                                       static_cast<size_t>(slot) * kLineBytes);
  }

  size_t reclaim(size_t limit);
  uint64_t complete_until() const;
  Cursor* oldest();
  void look(Cursor& cursor, int slot, bool trusted);
  void step(Cursor& cursor, int slot, bool trusted);
  uint64_t apply(const std::vector<uint64_t>& words, bool store, bool to_working_copy);
  void write_back_lines(Site site);
  void persist_tails(uint64_t upto, Site site, Site fence);

  Status scan(uint64_t& upto, std::vector<BlockPlace>& found);
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
  RoundLock<M> lock_;
  Owner* owners_;
  Freed* freed_;
  std::vector<RedoLog<M>> redo_;
  const Position* durable_ = nullptr;  // instead of announcements, unless null
  // Belong to the lock's holder.
  std::vector<Cursor> cursors_;
  std::vector<uint64_t> lines_;
};

}  // namespace holdfast

#include "holdfast/engines/parts/durability/stamped/stamped_logs_reclaim-inl.h"
#include "holdfast/engines/parts/durability/stamped/stamped_logs_recover-inl.h"
