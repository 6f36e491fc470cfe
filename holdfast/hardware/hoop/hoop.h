// SPDX-License-Identifier: Apache-2.0
//
// HOOP: transactions by out-of-place writes in the memory controller (Cai, Coats, Huang: "HOOP:
// Efficient Hardware-Assisted Out-of-Place Update for Non-Volatile Memory", ISCA 2020; as Hercules,
// ACM TECS 2023, compares it).
//
// Idea       Stores of transactions also go to the memory controller, word by word. It packs them
//            into slices of eight words, which go to a log in persistent memory (PM), the OOP
//            region. So a commit moves no cache line, and nothing is written in place before it.
// Store      The word goes into a slice of the core's OOP buffer, or replaces the buffer's word of
//            this address. A full buffer writes its oldest slice.
// Table      A table in the controller maps lines to the slices with their newest words. A miss
//            asks it. The words of a line that it has are merged over the line's place.
// Evictions  Lines have a flag, until a store outside transactions reaches them. The last level
//            drops lines with the flag: the controller has all of their words.
// Commit     The buffer's slices are written. When they are accepted, a commit record is written.
//            When that is accepted, the transaction is durable.
// Abort      Its slices in the buffer and in the table are forgotten, its lines in caches dropped.
// Background A collection reads the log from its tail on. Each line that has words there which the
//            table still maps is written home once. Then the log's tail moves. It begins every ten
//            milliseconds, or when table or log are full.
// Recovery   Buffers and table are volatile. Recovery scans the log, and writes the words of
//            committed transactions home, the newest of each address.
//
// Differences: decisions of this implementation (docs/reference/hardware/hoop.md has the reasons).
//   - The record waits for the slices. (`printed=together`: it does not.)
//   - A store outside transactions clears the flag. (`printed=bit`: it does not.) When such a line
//     is written back and the log has words of it, the line is logged as a transaction of its own.
//     (The original sets the flag by stores of transactions. Here lines come with it.)
//   - The tail moves when all lines are accepted. (`printed=release`: when they are sent.)
//   - There is no eviction buffer: the table keeps its entries until the tail has moved.
//   - If a transaction fills the table, further entries lie in volatile memory.
#pragma once

#include <unordered_map>

#include "holdfast/hardware/parts/slice_buffer.h"
#include "holdfast/hardware/parts/word_replay.h"
#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo hoop_info();

struct HoopOptions {
  /// Where the text, read by the letter, loses data.
  enum class Printed : uint8_t { nothing, together, bit, release };

  size_t buffer_bytes = 1024;  ///< of one core
  uint64_t table_bytes = 2 << 20;
  uint64_t region_bytes = 128 << 20;
  double table_cycles = 10;      ///< of a search of the table
  uint64_t collect_us = 10'000;  ///< between two collections
  size_t collect_lines = 64;     ///< that a collection has on their way
  bool collect_blocks = true;    ///< stores and commits of transactions wait for a collection
  bool overflow = true;          ///< else a transaction that fills the table is aborted
  Printed printed = Printed::nothing;
};

/// The design "hoop". Hooks: see design.h. Transactions that run at the same time must not store to
/// the same line, nor must stores outside transactions reach their lines.
class Hoop final : public HardwareDesign {
 public:
  explicit Hoop(const HoopOptions& options) : options_(options) {}

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
  static constexpr uint8_t kHeld =
      1;  ///< line flag: its content is all from memory and transactions
  static constexpr uint64_t kTableEntryBytes = 16;
  /// Slots that transactions leave free: for a line that was stored to outside transactions.
  static constexpr uint64_t kReservedSlots = 4;
  enum Transition : size_t {
    kWrittenEarly,
    kMerged,
    kByTime,
    kTableFull,
    kLogFull,
    kMigrated,
    kNewLap,
    kAborted,
    kOutside
  };

  /// The place of a word: slot and index in the log, kNowhere, or kInBuffer.
  using Where = uint64_t;
  static constexpr Where kNowhere = 0;
  static constexpr Where kInBuffer = ~Where{0};
  static Where in_log(uint64_t slot, size_t index) { return slot * WordLog::kEntries + index + 1; }
  static uint64_t slot_of(Where where) { return (where - 1) / WordLog::kEntries; }

  /// A word of a line that buffer or log have.
  struct Word {
    Where committed = kNowhere;
    Where open = kNowhere;  ///< by a transaction that has not committed
    int owner = 0;          ///< if open: its slot
  };
  using Words = std::vector<Word>;  ///< of a line
  /// A line that a transaction has stored to.
  struct Stored {
    DesignLine line;
    std::vector<std::byte> before;
  };
  struct Thread {
    bool open = false;
    uint64_t tx = 0;
    int core = 0;
    std::vector<Stored> lines;
    uint64_t first_slot = 0;  ///< if `slices` is not 0
    uint64_t slices = 0;      ///< that are in the log
    Time accepted = 0;        ///< of these
    Time recorded = 0;        ///< acceptance of its commit record; 0: it has none
  };
  struct Collection {
    enum class Phase : uint8_t { idle, scan, home, tail, free };
    Phase phase = Phase::idle;
    uint64_t next = 0;  ///< the next slot to read
    uint64_t end = 0;
    WordLines lines;
    WordLines::iterator line;  ///< the next to write home
    Time due = 0;              ///< of its next step
  };

  // hoop.cc
  Thread& of(const DesignTransaction& tx) { return threads_[static_cast<size_t>(tx.slot)]; }
  SliceBuffer& buffer_of(int core) { return buffers_[static_cast<size_t>(core)]; }
  uint64_t line_of(uint64_t home) const { return home / line_bytes_ * line_bytes_; }
  static size_t entries_of(const Words& words);
  void change(uint64_t line, FunctionRef<void(Words&)> f);
  Time make_room(int slot, size_t entries, Time now);
  LoggedWord* buffered(int slot, uint64_t home);
  Time put(const DesignStore& store, bool first, Time now);
  Time begin_slice(const DesignTransaction& tx, Time now);
  Time write_slice(SliceBuffer& buffer, size_t index, Time now);
  Time write_slices(const DesignTransaction& tx, Time now);
  WordLog::Appended append(uint64_t tx, std::span<const LoggedWord> words, Time now);
  void forget(int slot);
  Time merge(Place home, const Words& words, Time asked);
  Time log_outside(std::span<const LoggedWord> logged, Time now);
  static uint64_t bucket(uint64_t line) { return line >> 6 & ((1 << 20) - 1); }

  // hoop_collect.cc
  bool collecting() const { return collection_.phase != Collection::Phase::idle; }
  bool start_collection(Time now);
  Time finish_collection(Time now);
  void plan_collection(Time now);
  void collect(Time now);
  void collect_slots(Time now);
  void migrate_lines(Time now);
  void end_collection(Time now);

  HoopOptions options_;
  size_t line_bytes_ = 0;
  uint64_t table_entries_ = 0;  ///< room in the table
  uint64_t used_ = 0;           ///< its entries in use; more than it has room for: overflow
  Time table_time_ = 0;
  WordLog log_;
  std::vector<SliceBuffer> buffers_;           ///< by core
  std::vector<Thread> threads_;                ///< by slot
  std::unordered_map<uint64_t, Words> table_;  ///< by the line's home
  std::vector<std::byte> filled_;              ///< the bytes of the latest fill
  Collection collection_;
  Time next_collection_ = 0;
  Time outside_durable_ = 0;  ///< acceptance of all lines that log_outside() has logged
  uint64_t outside_ = 0;
  uint64_t words_ = 0;
  uint64_t coalesced_ = 0;
  uint64_t slices_ = 0;
  uint64_t records_ = 0;
  uint64_t merged_ = 0;
  uint64_t collections_ = 0;
  uint64_t migrated_ = 0;
  uint64_t overflowed_ = 0;
};

}  // namespace holdfast
