// SPDX-License-Identifier: Apache-2.0
//
// REDU: a redo log in hardware, with a DRAM cache before persistent memory (Jeong, Park, Huh,
// Maeng: "Efficient Hardware-Assisted Logging with Asynchronous and Direct-Update for Persistent
// Memory", MICRO 2018; as EHOU compares it).
//
// Idea       Stores of transactions also go to a redo log in persistent memory (PM). So a commit
//            waits for the log only. Their lines stay out of PM until then: those that leave the
//            last level go to a cache in volatile DRAM. After the commit the lines go home from
//            there, and nothing is read from the log.
// Store      The line goes into a slice of the core's log buffer, or the word replaces that of the
//            buffer's line. A full buffer writes its oldest slice to the log. (`entries=words`: a
//            slice has the words that were stored.)
// Caches     Lines that transactions store to have a flag: the thread. A dirty line with the flag
//            belongs to an open transaction, and goes to the DRAM cache when it leaves the last
//            level. A store outside transactions clears the flag. A miss asks the DRAM cache first.
// Commit     The buffer's slices are written. When they are accepted, a commit record is written.
//            When that is accepted, the transaction is durable. Its lines then go to the DRAM
//            cache, or if they are there already, count as committed.
// Background Committed lines of the DRAM cache are written home. A transaction is retired when all
//            its lines are. The log is free up to the first slot of the oldest transaction that is
//            not.
// Abort      Its slices in the buffer are forgotten, its lines in caches and DRAM cache dropped.
// Recovery   Caches and DRAM are volatile. Recovery scans the log, and writes the words of
//            committed transactions home, the newest of each address.
//
// Differences: decisions of this implementation (docs/reference/hardware/redu.md has the reasons).
//   - The record waits for the slices. (`printed=together`: it does not.)
//   - The DRAM cache has one version of a line. An uncommitted one comes when the committed one has
//     gone home. (`printed=overwrite`: it takes its place.)
//   - A line counts as home when PM has accepted it. (`printed=release`: when it is sent.)
//   - A line with words in the log that was stored to outside transactions is logged when it is
//     written back.
//   - If a set of the DRAM cache is full of uncommitted lines, further ones lie elsewhere in the
//     DRAM. (`overflow=0`: a transaction is aborted, as in the original.)
#pragma once

#include <deque>
#include <unordered_map>

#include "holdfast/hardware/parts/slice_buffer.h"
#include "holdfast/hardware/parts/word_replay.h"
#include "holdfast/hardware/redu/dram_cache.h"
#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo redu_info();

struct ReduOptions {
  /// Where the text, read by the letter, loses data.
  enum class Printed : uint8_t { nothing, together, overwrite, release };

  bool lines = true;           ///< entries of the log are lines, not words
  size_t buffer_bytes = 1024;  ///< of one core
  uint64_t region_bytes = 128 << 20;
  uint64_t dram_bytes = 64 << 20;
  size_t ways = 16;          ///< of the DRAM cache
  double dram_cycles = 100;  ///< of an access, on a machine without DRAM
  bool predict = false;      ///< a miss knows whether the DRAM cache has its line
  bool lazy = false;         ///< lines go home when the log gets short, or their set full
  size_t flush_lines = 8;    ///< on their way home
  bool overflow = true;
  Printed printed = Printed::nothing;
};

/// The design "redu". Hooks: see design.h. Transactions that run at the same time must not store to
/// the same line, nor must stores outside transactions reach their lines.
class Redu final : public HardwareDesign {
 public:
  explicit Redu(const ReduOptions& options) : options_(options) {}

  DesignWishes wishes() const override {
    return {.every_store = true, .dooms = !options_.overflow};
  }
  std::span<const char* const> transitions() const override;
  void attach(DesignContext& context) override;

  Time begin(const DesignTransaction& tx, Time now) override;
  Time commit(const DesignTransaction& tx, Time now) override;
  Time abort(const DesignTransaction& tx, Time now) override;
  Time first_store(const DesignStore& store, Time now) override { return put(store, true, now); }
  Time store(const DesignStore& store, Time now) override { return put(store, false, now); }

  uint8_t outside_store(DesignLine line, uint8_t flags) override;
  DesignFill fill(DesignLine line, int core, Time now) override;
  Leaving leaving(const LineMove& move, Time now) override;
  MemoryWrite memory_write(const LineMove& move, Time now) override;

  void tick(Time now) override;
  Time settle(Time now) override;
  Time recover(DesignRecovery& recovery, Time now) override;
  std::vector<std::pair<const char*, uint64_t>> counters() const override;

 private:
  enum Transition : size_t {
    kWrittenEarly,
    kHeldBack,
    kCameBack,
    kDisplaced,
    kCrowded,
    kOverflowed,
    kWentHome,
    kFreed,
    kNewLap,
    kAborted,
    kOutside
  };

  struct Thread {
    bool open = false;
    uint64_t tx = 0;
    int core = 0;
    std::vector<DesignLine> lines;  ///< that the transaction has stored to
    uint64_t first_slot = 0;        ///< if `slices` is not 0
    uint64_t slices = 0;            ///< that are in the log
    Time accepted = 0;              ///< of these
    Time recorded = 0;              ///< acceptance of its commit record; 0: it has none
    bool committed = false;         ///< its lines are going to the DRAM cache
  };
  /// A line on its way home.
  struct Flushed {
    Time home;
    std::vector<uint64_t> transactions;  ///< their first slots
  };

  static constexpr Time kNever = ~Time{0};
  static uint8_t flag_of(int slot) { return static_cast<uint8_t>(slot + 1); }
  static int slot_of(uint8_t flags) { return flags - 1; }
  Thread& of(const DesignTransaction& tx) { return threads_[static_cast<size_t>(tx.slot)]; }
  size_t entry_words() const { return options_.lines ? WordLog::kLineWords : 1; }
  SliceBuffer& buffer_of(int core) { return buffers_[static_cast<size_t>(core)]; }

  // redu.cc
  Time put(const DesignStore& store, bool first, Time now);
  void add_entry(const DesignStore& store, SliceBuffer& buffer);
  Time begin_slice(const DesignTransaction& tx, Time now);
  Time write_slice(SliceBuffer& buffer, size_t index, Time now);
  Time write_slices(const DesignTransaction& tx, Time now);
  WordLog::Appended append(uint64_t tx, std::span<const LoggedWord> words, Time now);
  void push_lines(int slot, Time now);
  void drop_lines(int slot, Time now);
  Time log_outside(const LineMove& move, Time now);

  // redu_cache.cc
  Time hold(const LineMove& move, int owner, Time now);
  DramCache::Line* place_for(DesignLine line, int owner, Time& now);
  void commits(DramCache::Line& line, uint64_t first_slot);
  Time flush(DramCache::Line& line, Time now);
  void flush_some(bool at_once, Time now);
  void retire(Time now);
  uint64_t oldest_slot() const;
  void move_tail(bool at_once, Time now);
  Time step(bool at_once, Time now);
  Time log_room(int slot, Time now);

  ReduOptions options_;
  size_t line_bytes_ = 0;
  uint64_t reserved_slots_ = 0;  ///< that transactions leave free, for a line logged from outside
  WordLog log_;
  DramCache dram_;
  std::vector<SliceBuffer> buffers_;               ///< by core
  std::vector<Thread> threads_;                    ///< by slot
  std::unordered_map<uint64_t, uint64_t> logged_;  ///< by line: the newest slot with its words
  /// The committed transactions, by their first slot: the number of their lines that are not home.
  std::map<uint64_t, uint64_t> retiring_;
  std::deque<uint64_t> queue_;  ///< homes of committed lines, oldest first; some may have gone
  std::deque<Flushed> flushed_;
  uint64_t new_tail_ = 0;
  Time tail_due_ = 0;  ///< acceptance of the new tail; 0: none is on its way
  uint64_t outside_ = 0;
  uint64_t words_ = 0;
  uint64_t coalesced_ = 0;
  uint64_t slices_ = 0;
  uint64_t records_ = 0;
  uint64_t held_ = 0;
  uint64_t found_ = 0;
  uint64_t overflowed_ = 0;
  uint64_t home_ = 0;
  uint64_t tails_ = 0;
};

}  // namespace holdfast
