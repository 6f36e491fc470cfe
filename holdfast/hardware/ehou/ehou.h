// SPDX-License-Identifier: Apache-2.0
//
// EHOU: out-of-place updates by the address indirection table of persistent memory (Deng, Yue, Lu,
// Zhu: "Efficient Hardware-assisted Out-place Update for Persistent Memory").
//
// Idea       Persistent memory (PM) has a table (AIT) that maps lines to blocks of the device. A
//            transaction's line goes to a free block. Until the commit only the table's cache knows
//            of it, as a speculative mapping. The cache survives a power failure.
// Write      The first write of a transaction's line that reaches the controller takes a free block
//            and a speculative mapping. If the cache has a committed mapping of the line that the
//            table lacks, that goes to the table first.
// Commit     The transaction's lines are written back. Then a register of the thread changes: its
//            speculative mappings are committed. That is the commit point. Old blocks become free.
//            Policy `lazy` leaves the mappings in the cache; `eager` writes them to the table.
// Overflow   A set of the cache whose entries are all speculative gives one up. Its mappings go to
//            the thread's overflow log in PM, through a line that survives in the controller. A
//            Bloom filter tells misses of the cache to look there. The commit applies the log to
//            the table and then clears it.
// Abort      Speculative mappings are forgotten, their blocks are free again.
// Power      The cache's committed mappings are written to the table, the speculative ones are not.
// Recovery   Committed logs are applied to the table. Each line of the list of spare blocks knows
//            two blocks. The register says which of them is free.
//
// Differences: decisions of this implementation, where the text says nothing or cannot be built.
//   - A commit changes one register, and not the state of each mapping.
//   - The list of spare blocks is both the free list and the reclaim list of the text.
//   - Bloom filters hold entries of the cache, not lines, because an entry maps several lines.
//   - Isolation is the program's: no access aborts another thread's transaction.
#pragma once

#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo ehou_info();

struct EhouOptions {
  enum class Policy : uint8_t { lazy, eager };
  /// A published sentence to take at its word. All but `none` lose data at a power failure.
  enum class Printed : uint8_t {
    none,
    noflush,  ///< a commit writes no lines back
    states,   ///< a commit changes the state of each mapping, and no register
    noflow,   ///< no overflow log: a speculative entry that is evicted goes to the table
    early,    ///< figure 5: such an entry goes to the log and to the table
    clear,    ///< the log is cleared when its entries were sent to the table
    reclaim,  ///< recovery frees the new block of each line of the list
  };
  Policy policy = Policy::lazy;
  size_t sets = 0;            ///< of the table's cache; 0: as the machine
  size_t ways = 0;            ///< as above
  size_t lines = 0;           ///< that an entry maps; as above
  size_t spares = 0;          ///< spare blocks; 0: as many as the cache has mappings, within limits
  size_t filter_bits = 1024;  ///< of a thread's Bloom filter
  Printed printed = Printed::none;
};

/// The design "ehou". Hooks: see design.h.
class Ehou final : public HardwareDesign {
 public:
  explicit Ehou(const EhouOptions& options) : options_(options) {}

  DesignWishes wishes() const override { return {.address_table = true}; }
  void adapt(MachineDescription& machine) const override;
  std::vector<StructureInfo> structures(const MachineDescription& machine) const override;
  std::span<const char* const> transitions() const override;
  void attach(DesignContext& context) override;

  Time begin(const DesignTransaction& tx, Time now) override;
  Time commit(const DesignTransaction& tx, Time now) override;
  Time abort(const DesignTransaction& tx, Time now) override;
  Time first_store(const DesignStore& store, Time now) override;
  MemoryWrite memory_write(const LineMove& move, Time now) override;

  Place translate(Place home) const override;
  size_t table_victim(std::span<const TableSlot> set) override;
  Time table_leaves(const TableSlot& slot, Time now) override;
  TableMiss table_missed(const TableSlot& slot, uint64_t line, Time now) override;

  void power_failure(PowerFailure& power) const override;
  Time recover(DesignRecovery& recovery, Time now) override;
  std::vector<std::pair<const char*, uint64_t>> counters() const override;

  // ---- For tests: each block of the device is the block of one line, or free
  /// The block that has the line's latest content.
  uint64_t block_of(uint64_t line) const;
  /// The blocks that are free now, and would be free after a recovery.
  std::vector<uint64_t> free_blocks() const;
  /// The number of the first spare block; smaller ones are the lines' own.
  static constexpr uint64_t kSpareBlocks = uint64_t{1} << 40;

 private:
  enum Structure : size_t { kCache, kSpares, kThreads, kBuffers };
  enum Transition : size_t {
    kOverwritten,
    kEvicted,
    kOverflowed,
    kFound,
    kApplied,
    kFlushed,
    kAborted
  };

  /// The register of a hardware thread.
  struct Register {
    uint64_t open = 0;  ///< 1: the thread's speculative mappings are uncommitted
    /// The records [begin, end) of its overflow log are committed, and not all in the table.
    uint64_t log_begin = 0;
    uint64_t log_end = 0;
    bool operator==(const Register&) const = default;
  };
  /// A line of the list of spare blocks.
  struct Spare {
    uint64_t fresh = 0;  ///< block + 1; 0: the spare block of this line's number
    uint64_t old = 0;    ///< block + 1 that `fresh` replaces at the commit; 0: `fresh` is free
    uint64_t owner = 0;  ///< slot + 1 of the thread
  };
  /// A record of the overflow log.
  struct Record {
    uint64_t line = 0;
    uint64_t word = 0;  ///< block + 1
  };
  struct Mapping {
    uint64_t line;
    uint64_t fresh;
    uint64_t old;
    size_t spare;
  };
  struct Thread {
    std::vector<DesignLine> lines;  ///< that the transaction has stored to
    std::vector<Mapping> mappings;  ///< the write set: its lines that have reached the controller
    bool flushed = false;           ///< the commit has written its lines back
    bool committed = false;
    Time ready = 0;        ///< the time from which on the commit can go on
    uint64_t head = 0;     ///< the next record of its log
    uint64_t begin = 0;    ///< the transaction's first record
    Time buffer_free = 0;  ///< the time from which on its line of the log buffer can be used
    std::vector<bool> filter;
    /// By entry: the records of the transaction, each with its line.
    std::unordered_map<uint64_t, std::vector<std::pair<uint64_t, uint64_t>>> logged;
  };
  struct Owner {
    size_t slot;
    size_t mapping;  ///< its index in the thread's mappings; kNone: not written yet
  };
  static constexpr size_t kNone = ~size_t{0};

  // A mapping in the cache or in the table: 0, or block + 1. In the cache 0 means that it is the
  // table's, and bits from kOwnerShift on are slot + 1 of a speculative mapping.
  static constexpr int kOwnerShift = 48;
  static uint64_t block_in(uint64_t word) {
    return (word & ((uint64_t{1} << kOwnerShift) - 1)) - 1;
  }
  static uint64_t owner_in(uint64_t word) { return word >> kOwnerShift; }

  /// The bytes of an entry of the cache: its number + 1, and a mapping for each of its lines.
  using Entry = std::vector<uint64_t>;
  Thread& of(const DesignTransaction& tx) { return threads_[static_cast<size_t>(tx.slot)]; }
  Entry entry_in(size_t slot) const;
  uint64_t entry_in(size_t slot, size_t in_entry) const;
  void set_entry(size_t slot, const Entry& entry, Time now);
  Register register_of(size_t slot) const;
  void set_register(size_t slot, const Register& value, Time now);
  Spare spare_at(size_t index) const;
  void set_spare(size_t index, const Spare& value, Time now);

  Place place_of_block(uint64_t block) const;
  Place table_place(uint64_t line) const;
  Place record_place(size_t slot, uint64_t record) const;
  std::vector<uint64_t> table_words(uint64_t line) const;
  size_t in_entry(uint64_t line) const { return line % lines_; }
  uint64_t line_of(Place home) const { return home.offset / line_bytes_; }

  void remap(size_t slot, uint64_t line, Time now);
  size_t take_free();
  Time write_table(uint64_t line, const std::vector<uint64_t>& words, Time now);
  Time write_part(Entry& entry, uint64_t line, Time now);
  Time append(size_t slot, const Record& record, Time now);
  Time apply_log(size_t slot, Time now);
  Time finish(size_t slot, Time now);
  Time flush(size_t slot, Time now);
  Time read_log(size_t slot, const Register& committed, uint64_t& written, Time now);
  void leave_cache(size_t slot, bool committed, Time now);
  void close(size_t slot);
  bool in_filter(const Thread& thread, uint64_t entry) const;
  size_t filter_bit(uint64_t entry, uint64_t n) const;

  EhouOptions options_;
  size_t line_bytes_ = 64;
  uint64_t lines_ = 1;                           ///< that an entry maps
  uint64_t mappings_ = 8;                        ///< in a line of the table
  uint64_t records_ = 4;                         ///< in a line of the log
  Time round_trip_ = 0;                          ///< to the controller and back
  std::vector<Thread> threads_;                  ///< by slot
  std::deque<size_t> free_;                      ///< lines of the list whose block is free
  std::unordered_map<uint64_t, Owner> stored_;   ///< by line: lines of open transactions
  std::unordered_map<uint64_t, size_t> cached_;  ///< by entry: its slot of the cache
  uint64_t remapped_ = 0;
  uint64_t overwritten_ = 0;
  uint64_t evicted_ = 0;
  uint64_t flushed_ = 0;
  uint64_t overflowed_ = 0;
  uint64_t log_reads_ = 0;
  uint64_t false_reads_ = 0;
  uint64_t applied_ = 0;
};

}  // namespace holdfast
