// SPDX-License-Identifier: Apache-2.0
//
// TC: a persistent transaction cache beside each core's L1 (Lai, Zhao, Wang: "Leave the Cache
// Hierarchy Operation as It Is", DAC 2017; sizes as in Hercules, ACM TECS 2023, table 2).
//
// Idea       Each core has a TC: 4 KB of non-volatile memory (STT-RAM), a FIFO of entries {line,
//            bytes, transaction, active or committed}. It holds the stores of transactions until
//            they are in persistent memory (PM). Reading an entry takes 40 cycles, writing one 50;
//            writes are pipelined.
// Store      A store goes to L1 as usual, and into the core's TC: to the transaction's entry of
//            this line, or to a new entry. If no entry is free, the store waits until the oldest
//            committed entry is in PM.
// Evictions  The last level drops lines that a transaction has stored to, because a TC or PM has
//            them. A miss first probes the TCs (40 cycles), then reads PM.
// Commit     When the last write to the TC is done, the transaction's entries become committed, at
//            one instant. They then drain to PM one after the other; each is written when the
//            write queue has accepted the one before.
// Abort      The entries are freed and the cached copies invalidated. The last committed bytes
//            come from a TC or from PM.
// Too large  If the FIFO is full of active entries, the oldest is spilled: it is written to a log
//            in PM (the line, and a line with its address), and its place is used again. Once
//            committed, it is read from the log and written home.
// Recovery   TCs and log survive a crash. Recovery writes the committed entries to PM in FIFO
//            order, and drops the active ones.
//
// Differences: decisions of this implementation, where the papers say nothing.
//   - The probe comes before the read of PM, not beside it.
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
  void attach(DesignContext& context) override;

  Time commit(const DesignTransaction& tx, Time now) override;
  Time abort(const DesignTransaction& tx, Time now) override;
  Time first_store(const DesignStore& store, Time now) override { return put(store, now); }
  Time store(const DesignStore& store, Time now) override { return put(store, now); }
  uint8_t outside_store(DesignLine, uint8_t flags) override;

  DesignFill fill(DesignLine at, int core, Time now) override;
  void leaving(Level from, DesignLine at, bool& dirty, uint8_t& flags, Time now) override;
  bool memory_write(DesignLine at, Time now) override;

  void tick(Time now) override;
  Time settle(Time now) override;
  void power_failure(SurvivingState& surviving) const override;
  DesignRecovery recover(std::span<const std::byte> state, RecoveryMedium& medium) const override;
  std::vector<std::pair<const char*, uint64_t>> counters() const override;

 private:
  static constexpr uint8_t kHeld = 1;  ///< line flag: a TC or PM has the line's newest bytes

  struct Entry {
    DesignLine at;
    uint64_t tx;
    uint64_t number;  ///< counts the entries of all cores
    bool committed = false;
    Time written = 0;     ///< the time at which the TC has the bytes
    Time spilled = 0;     ///< the time at which the log has the bytes; 0: no spill has begun
    bool logged = false;  ///< the entry is in the log and no longer in the TC
    uint64_t log_line = 0;
    std::vector<std::byte> bytes;
  };
  /// The TC of one core.
  struct Core {
    std::deque<Entry> fifo;
    size_t used = 0;        ///< entries in the TC itself, not in the log
    bool draining = false;  ///< an entry is on its way to PM
    uint64_t drains = 0;    ///< its number
    Time accepted = 0;      ///< the time at which the write queue accepts it
  };

  Core& of(const DesignTransaction& tx) { return cores_[static_cast<size_t>(tx.core)]; }
  Time put(const DesignStore& store, Time now);
  void add(Core& core, const DesignStore& store, Time now);
  void merge(Entry& entry, const DesignStore& store, Time now) const;
  Entry* active(Core& core, uint64_t tx, uint32_t line);
  Time make_room(Core& core, Time now);
  Time spill(Core& core, Entry& entry, Time now);
  void erase(Core& core, const std::deque<Entry>::iterator& entry);
  Entry* newest(uint32_t line);
  bool older_elsewhere(const Entry& entry) const;
  void start_drains(Time now);
  void start_drain(Core& core, Time now);
  void finish_drain(Core& core);
  Core* next_to_finish();

  TransactionCacheOptions options_;
  size_t capacity_ = 0;  ///< lines in one TC
  Time read_time_ = 0;
  Time write_time_ = 0;
  std::vector<Core> cores_;
  std::unordered_map<uint32_t, uint32_t> present_;  ///< by line: how many entries it has
  uint64_t last_number_ = 0;
  uint64_t log_lines_ = 0;
  uint64_t puts_ = 0;
  uint64_t merges_ = 0;
  uint64_t spills_ = 0;
  uint64_t drained_ = 0;
};

}  // namespace holdfast
