// SPDX-License-Identifier: Apache-2.0
//
// TC: a persistent transaction cache beside each core's L1 (Lai, Zhao, Wang: "Leave the Cache
// Hierarchy Operation as It Is", DAC 2017; sizes as in Hercules, ACM TECS 2023, table 2).
//
// State     per core, 4 KB of non-volatile memory (STT-RAM): a FIFO of lines, each {line, bytes,
//           transaction, active or committed}. Reading one takes 40 cycles, writing one 50, and
//           writes are pipelined.
// Store     goes to L1 as ever, and into the core's TC: the transaction's entry of this line, or a
//           new one. No free entry: the store waits until the oldest committed entry is in PM.
// Evictions the last level drops what a transaction stored: TC or PM has it. A miss asks the TCs,
//           40 cycles, then PM.
// Commit    when the last write to the TC is done, the entries are marked committed, at one
//           instant. They are read and written to PM one after the other, each when the write
//           queue has accepted the one before.
// Abort     the entries are freed, cached copies invalidated; the last committed bytes come from a
//           TC or PM.
// Too large with the FIFO full of active entries, the oldest is written to a log in PM (the line,
//           and a line with its address) and its place reused. Committed, such a line is read from
//           the log and written home.
// Crash     TC and log survive. Recovery writes committed entries to PM in FIFO order and forgets
//           active ones.
//
// Our own decisions, where the papers say nothing: the probe comes before the read of PM and not
// beside it; the fallback log (the original copies on write when the TC is about 90 % full); a line
// with older committed bytes in another core's TC drains after these; a dirty line that was stored
// to outside transactions goes into the newest entry of this line where there is one, else to PM.
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
  static constexpr uint8_t kHeld = 1;  ///< flag: a TC or PM has this line's newest bytes

  struct Entry {
    DesignLine at;
    uint64_t tx;
    uint64_t number;  ///< in the order of all puts
    bool committed = false;
    Time written = 0;     ///< when the TC has it
    Time spilled = 0;     ///< when the log will have it; 0: not on its way
    bool logged = false;  ///< in the log, no longer in the TC
    uint64_t log_line = 0;
    std::vector<std::byte> bytes;
  };
  struct Core {
    std::deque<Entry> fifo;
    size_t used = 0;        ///< entries in the TC itself
    bool draining = false;  ///< entry `drains` is on its way to PM,
    uint64_t drains = 0;
    Time accepted = 0;  ///< which has it then
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
  size_t capacity_ = 0;  ///< of one TC, in lines
  Time read_time_ = 0;
  Time write_time_ = 0;
  std::vector<Core> cores_;
  std::unordered_map<uint32_t, uint32_t> present_;  ///< line to the number of its entries
  uint64_t last_number_ = 0;
  uint64_t log_lines_ = 0;
  uint64_t puts_ = 0;
  uint64_t merges_ = 0;
  uint64_t spills_ = 0;
  uint64_t drained_ = 0;
};

}  // namespace holdfast
