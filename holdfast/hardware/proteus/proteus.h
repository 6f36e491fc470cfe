// SPDX-License-Identifier: Apache-2.0
//
// Proteus: an undo log whose writes wait in the memory controller's queue, and are dropped at the
// commit (Shin, Tirukkovalluri, Tuck, Solihin: "Proteus", MICRO 2017; as Hercules, ACM TECS 2023,
// describes and compares it).
//
// Idea       The write-pending queue (WPQ) survives a power failure. Log entries of a transaction
//            that commits while they wait there need not be written to the medium at all.
// Store      The first store to a block of 32 bytes sends the block's old bytes to the thread's log
//            in persistent memory (log-load, log-flush). The log look-up table (LLT) knows the
//            latest blocks of the transaction; their later stores are not logged.
// Order      A line goes home no earlier than the controller has accepted its log entries and all
//            of the transaction before them. The log queue (LogQ) of a core has the entries on
//            their way. A store waits if it is full.
// Commit     When the log is accepted, the transaction's lines are written back. When these are
//            accepted, the thread's register changes: that is the commit point. Log entries that
//            still wait in the WPQ are dropped.
// Abort      The old bytes are stored again and written back. Then the register changes.
// Recovery   Old bytes of transactions that have not ended are written home. If a block has several
//            entries, the oldest one counts. Entries behind a gap of the log do not.
//
// Differences: decisions of this implementation, where the text says nothing.
//   - A register of the thread in the controller ends a transaction, at one instant. Its number
//     tells which entries count, those among them that were spilled to the medium.
//   - The log entries share the WPQ with all other writes, as in Hercules. The original has a queue
//     of its own for them.
//   - Isolation is the program's: no access aborts another thread's transaction.
#pragma once

#include <unordered_map>

#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo proteus_info();

struct ProteusOptions {
  /// A published sentence to take at its word. All but `none` lose data at a power failure.
  enum class Printed : uint8_t {
    none,
    drop,    ///< a commit drops the entries that wait, and nothing ends the spilled ones
    commit,  ///< a commit drops the entries, and its lines are not written back before
    abort,   ///< an abort stores the old bytes, and does not write them back
  };
  size_t logq = 16;                    ///< entries of a core's log queue
  size_t llt = 64;                     ///< blocks of a thread's log look-up table
  uint64_t area = uint64_t{16} << 20;  ///< bytes of a thread's log
  Printed printed = Printed::none;
};

/// The design "proteus". Hooks: see design.h.
class Proteus final : public HardwareDesign {
 public:
  static constexpr size_t kBlock = 32;  ///< bytes of a log entry

  explicit Proteus(const ProteusOptions& options) : options_(options) {}

  DesignWishes wishes() const override { return {.every_store = true}; }
  std::vector<StructureInfo> structures(const MachineDescription& machine) const override;
  std::span<const char* const> transitions() const override;
  void attach(DesignContext& context) override;

  Time commit(const DesignTransaction& tx, Time now) override;
  Time abort(const DesignTransaction& tx, Time now) override;
  Time first_store(const DesignStore& store, Time now) override;
  Time store(const DesignStore& store, Time now) override { return log(store, now); }
  MemoryWrite memory_write(const LineMove& move, Time now) override;

  void power_failure(PowerFailure& /*power*/) const override {}  // the WPQ drains by itself
  Time recover(DesignRecovery& recovery, Time now) override;
  std::vector<std::pair<const char*, uint64_t>> counters() const override;

 private:
  enum Structure : size_t { kThreads };
  enum Transition : size_t { kWaited, kForgotten, kHeld, kDropped, kSpilled, kWrapped, kAborted };

  /// The register of a hardware thread.
  struct Register {
    uint64_t ended = 0;  ///< transactions with stores that have ended
    uint64_t begin = 0;  ///< the first log entry of the next one
  };
  /// A log entry has a line of its own. This is its content.
  struct Entry {
    uint64_t number = 0;  ///< the thread's transaction, from 1
    uint64_t home = 0;    ///< offset of the block on the medium
    std::byte old[kBlock] = {};
  };
  struct Thread {
    uint64_t number = 1;               ///< of the present or next transaction
    uint64_t begin = 0;                ///< its first entry
    std::vector<Ticket> entries = {};  ///< its log entries, oldest first
    std::vector<uint64_t> llt = {};    ///< the blocks that the LLT knows, the latest first
    std::vector<uint32_t> lines = {};  ///< that it has stored to
    Time logged = 0;                   ///< the time from which on all its entries are accepted
    Time home = 0;                     ///< its lines are accepted then; 0: not written back
  };

  Thread& of(const DesignTransaction& tx) { return threads_[static_cast<size_t>(tx.slot)]; }
  uint64_t capacity() const { return options_.area / context().line_bytes(); }
  Place place(size_t slot, uint64_t entry) const;
  Register register_of(size_t slot) const;
  void set_register(size_t slot, const Register& value, Time now);

  Time log(const DesignStore& store, Time now);
  bool look_up(Thread& thread, uint64_t block);
  Time append(const DesignStore& store, uint64_t block, Time now);
  Time write_back(const Thread& thread, Time now);
  void end(size_t slot, Time now);
  Time scan(size_t slot, std::vector<Entry>& entries, Time now);

  ProteusOptions options_;
  std::vector<Thread> threads_;                  ///< by slot
  std::vector<std::vector<Time>> logq_;          ///< by core: the times of acceptance
  std::unordered_map<uint32_t, Time> accepted_;  ///< by line: of its entries and those before
  uint64_t logged_ = 0;
  uint64_t filtered_ = 0;
  uint64_t dropped_ = 0;
  uint64_t spilled_ = 0;
};

}  // namespace holdfast
