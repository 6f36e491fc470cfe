// SPDX-License-Identifier: Apache-2.0
//
// TC: a persistent transaction cache beside each core's L1 (Lai, Zhao, Wang: "Leave the Cache
// Hierarchy Operation as It Is", DAC 2017; sizes as in Hercules, ACM TECS 2023, table 2).
//
// Idea       Each core has a TC: 4 KB of non-volatile memory (STT-RAM), a FIFO of entries {line,
//            bytes, transaction}. It holds the stores of transactions until they are in persistent
//            memory (PM). Reading an entry takes 40 cycles, writing one 50; writes are pipelined.
// Store      A store goes to L1 as usual, and into the core's TC: to the transaction's entry of
//            this line, or to a new entry. If no entry is free, the store waits until the oldest
//            committed entry is in PM.
// Evictions  The last level drops lines that a transaction has stored to, because a TC or PM has
//            them. A miss first probes the TCs (40 cycles), then reads PM.
// Commit     When the last write to the TC is done, a non-volatile register of the hardware thread
//            gets the transaction's number, at one instant: entries with numbers up to it are
//            committed. They then drain to PM one after the other; each is written when the write
//            queue has accepted the one before.
// Abort      The entries are freed and the cached copies invalidated. The last committed bytes
//            come from a TC or from PM.
// Too large  If the FIFO is full of active entries, the oldest is spilled: it is written to the
//            thread's log in PM, and its entry is used again. Four records' places share a line,
//            which is written when it is full, and before the commit.
//            The register also says which part of the log is committed. Once committed, the lines
//            are read from the log, several at a time, and written home one after the other.
// Recovery   TCs, registers and log survive a crash. Recovery writes the committed entries to PM in
//            FIFO order, and drops the active ones.
//
// Differences: decisions of this implementation, where the papers say nothing.
//   - The probe comes before the read of PM, not beside it.
//   - A commit changes one register and not the state of each entry.
//   - Large transactions use a log. (The original copies on write when the TC is about 90 % full.)
//   - A line that has older committed bytes in another core's TC drains after these.
//   - A dirty line that was stored to outside transactions goes into the newest entry of this line,
//     or to PM if there is none.
#pragma once

#include <deque>
#include <unordered_map>

#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo tc_info();

struct TransactionCacheOptions {
  size_t bytes = 4096;
  double read_cycles = 40;
  double write_cycles = 50;
  bool probe_first = true;
};

/// The design "tc". Hooks: see design.h.
class TransactionCache final : public HardwareDesign {
 public:
  explicit TransactionCache(const TransactionCacheOptions& options) : options_(options) {}

  DesignWishes wishes() const override { return {.every_store = true}; }
  std::vector<StructureInfo> structures(const MachineDescription& machine) const override;
  std::span<const char* const> transitions() const override;
  void attach(DesignContext& context) override;

  Time commit(const DesignTransaction& tx, Time now) override;
  Time abort(const DesignTransaction& tx, Time now) override;
  Time first_store(const DesignStore& store, Time now) override { return put(store, now); }
  Time store(const DesignStore& store, Time now) override { return put(store, now); }
  uint8_t outside_store(DesignLine, uint8_t flags) override;

  DesignFill fill(DesignLine line, int core, Time now) override;
  Leaving leaving(const LineMove& move, Time now) override;
  MemoryWrite memory_write(const LineMove& move, Time now) override;

  void tick(Time now) override;
  Time settle(Time now) override;
  void power_failure(PowerFailure& power) const override;
  Time recover(DesignRecovery& recovery, Time now) override;
  std::vector<std::pair<const char*, uint64_t>> counters() const override;

 private:
  static constexpr uint8_t kHeld = 1;  ///< line flag: a TC or PM has the line's newest bytes
  /// The non-volatile structures.
  enum Structure : size_t { kEntries, kRegisters };
  /// The state transitions.
  enum Transition : size_t { kSpilled, kDrained, kDrainedFromLog, kMergedOutside, kLogEmptied };

  /// The place of an entry in a TC.
  struct SavedEntry {
    uint64_t used = 0;
    uint64_t offset = 0;  ///< of the line on the medium
    uint64_t tx = 0;
    uint64_t slot = 0;
    uint64_t number = 0;
  };
  /// The description of a record.
  struct SavedRecord {
    uint64_t offset = 0;  ///< of the line on the medium
    uint64_t number = 0;  ///< of the entry
  };
  /// The descriptions of the records around the tail of a thread's log.
  struct Descriptions {
    std::vector<std::byte> bytes;  ///< a line
    bool written = true;           ///< the log has it
    Time accepted = 0;
  };
  /// The register of a hardware thread.
  struct Register {
    uint64_t committed = 0;  ///< the thread's transactions up to this number are committed
    uint64_t log_begin =
        0;  ///< the records [begin, end) of its log are committed, and not all home
    uint64_t log_end = 0;
  };
  struct Entry {
    DesignLine line;
    uint64_t tx;
    size_t slot;
    uint64_t number;  ///< counts the entries of all cores
    size_t place;     ///< its entry in kEntries
    bool committed = false;
    Time written = 0;         ///< the time at which the TC has the bytes
    Time spilled = 0;         ///< the time at which the log has the bytes; 0: no spill has begun
    bool logged = false;      ///< the entry is in the log and no longer in the TC
    bool has_record = false;  ///< it has a place in the thread's log: it was or is being spilled
    uint64_t record = 0;      ///< that place
    Time fetched = 0;         ///< the time at which its record has been read back; 0: not yet
    std::vector<std::byte> bytes;
  };
  /// The TC of one core.
  struct Core {
    std::deque<Entry> fifo;
    std::vector<size_t> free;  ///< entries of the TC that are not used
    bool draining = false;     ///< an entry is on its way to PM
    uint64_t drains = 0;       ///< its number
    Time accepted = 0;         ///< the time at which the write queue accepts it
  };
  /// An entry that recovery writes home.
  struct Committed {
    uint64_t number;
    uint64_t offset;
    size_t slot;
    bool logged;
    size_t place;  ///< in kEntries, or in the log
    std::vector<std::byte> bytes;
  };

  Core& of(const DesignTransaction& tx) { return cores_[static_cast<size_t>(tx.core)]; }
  static Place record_place(size_t slot, uint64_t record, size_t line_bytes);
  static Place description_place(size_t slot, uint64_t record, size_t line_bytes);
  Time put(const DesignStore& store, Time now);
  void add(Core& core, const DesignStore& store, Time now);
  void merge(Entry& entry, const DesignStore& store, Time now);
  void save(const Entry& entry, Time now);
  void set_register(size_t slot, Time now);
  Entry* active(Core& core, uint64_t tx, uint32_t line);
  Time make_room(Core& core, Time now);
  Time spill(Core& core, Entry& entry, Time now);
  void describe(Entry& entry, Time now);
  void write_descriptions(size_t slot, uint64_t record, Time now);
  void give_up_entry(Core& core, Entry& entry, Time now);
  void erase(Core& core, const std::deque<Entry>::iterator& entry, Time now);
  void shorten_log(const Entry& home, Time now);
  Time shorten_tail(size_t slot, Time now);
  Entry* newest(uint32_t line);
  bool older_elsewhere(const Entry& entry) const;
  void start_drains(Time now);
  void start_drain(Core& core, Time now);
  void fetch_ahead(Core& core, std::deque<Entry>::iterator first, Time now);
  void finish_drain(Core& core);
  Core* next_to_finish();
  void find_committed(std::vector<Committed>& found, DesignRecovery& recovery, Time& now);

  TransactionCacheOptions options_;
  size_t capacity_ = 0;  ///< lines in one TC
  Time read_time_ = 0;
  Time write_time_ = 0;
  std::vector<Core> cores_;
  std::vector<Register> registers_;                 ///< by slot
  std::vector<uint64_t> log_tail_;                  ///< by slot: the next record
  std::vector<Descriptions> descriptions_;          ///< by slot
  std::unordered_map<uint32_t, uint32_t> present_;  ///< by line: how many entries it has
  uint64_t last_number_ = 0;
  uint64_t puts_ = 0;
  uint64_t merges_ = 0;
  uint64_t spills_ = 0;
  uint64_t drained_ = 0;
};

}  // namespace holdfast
