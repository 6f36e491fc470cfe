// SPDX-License-Identifier: Apache-2.0
//
// Kiln: transactions in a last-level cache of non-volatile memory (Zhao, Li, Yoon, Xie, Jouppi:
// "Kiln", MICRO 2013; as Hercules, ACM TECS 2023, describes and configures it).
//
// Idea       The last level is STT-RAM, so it survives a power failure. It has the newest committed
//            version of a line, persistent memory (PM) an older one. So a line in the last level is
//            its own redo record.
// Store      The first store to a line flags it in L1 as uncommitted, and enters it into the
//            thread's request queue.
// Caches     Flags go with their lines. The last level never gives up an uncommitted line for
//            another one. When an uncommitted version comes to a committed one there, the committed
//            one first goes home to PM.
// Commit     The lines of the transaction that are above are written down to the last level. Then
//            a non-volatile register of the hardware thread changes: its flagged lines are
//            committed. That is the commit point. Then the flags are cleared.
// Too large  A line goes to the thread's log in PM if its set of the last level is full of
//            uncommitted lines, or as the oldest one of a full request queue. A miss finds it
//            there. The register says which part of the log is committed. After the commit these
//            lines are written home.
// Abort      Uncommitted versions are dropped. The committed ones lie in the last level or in PM.
// Recovery   Last level, registers and log survive. Lines that are unflagged or whose thread's
//            register says so are written home, and the committed part of each log before them.
//
// Differences: decisions of this implementation, where the text says nothing or cannot be built.
//   - A commit changes one register, and not the state of each line.
//   - Uncommitted lines that go to PM go to a log, and not to their place.
//   - The last level fills on misses and is not inclusive: it may refuse a line.
//   - Recovery brings everything home. The simulated machine starts with empty caches.
//   - Isolation is the program's: no access aborts another thread's transaction.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>

#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo kiln_info();

/// Hercules (ACM TECS 2023), table 2: STT-RAM LLC, 64 MB, 16-way, 40/50 cycles read/write.
struct KilnOptions {
  /// A published sentence to take at its word. All but `none` lose data at a power failure.
  enum class Printed : uint8_t {
    none,
    states,     ///< a commit changes the state of each line, and no register
    overwrite,  ///< the last level has one version, and overwrites a committed one
    home,       ///< lines of a full queue, or of a full set, go to their places in PM
  };
  size_t bytes = 0;  ///< of the last level; 0: four times the machine's
  double read_cycles = 40;
  double write_cycles = 50;
  size_t banks = 8;             ///< of the last level; each takes one write at a time
  size_t reserve_percent = 12;  ///< of the queue: entries for lines on their way to the log
  size_t queue = 64;            ///< entries of a thread's request queue; 0: no limit
  double search_cycles = 10;    ///< of the addresses of lines in the log
  Printed printed = Printed::none;
};

/// The design "kiln". Hooks: see design.h.
class Kiln final : public HardwareDesign {
 public:
  explicit Kiln(const KilnOptions& options) : options_(options) {}

  DesignWishes wishes() const override;
  void adapt(MachineDescription& machine) const override;
  std::vector<StructureInfo> structures(const MachineDescription& machine) const override;
  std::span<const char* const> transitions() const override;
  void attach(DesignContext& context) override;

  Time commit(const DesignTransaction& tx, Time now) override;
  Time abort(const DesignTransaction& tx, Time now) override;
  Time first_store(const DesignStore& store, Time now) override;
  Time store(const DesignStore& store, Time now) override;

  DesignFill fill(DesignLine line, int core, Time now) override;
  Leaving leaving(const LineMove& move, Time now) override;
  bool keeps(const CachedLine& resident, uint8_t coming_flags) override;
  size_t victim(const VictimChoice& choice) override;

  void power_failure(PowerFailure& /*power*/) const override {}  // the last level stays as it is
  Time recover(DesignRecovery& recovery, Time now) override;
  std::vector<std::pair<const char*, uint64_t>> counters() const override;

 private:
  /// The non-volatile structures.
  enum Structure : size_t { kThreads };
  enum Transition : size_t { kDisplaced, kRefused, kForced, kReloaded, kMigrated, kAborted };

  /// The register of a hardware thread.
  struct Register {
    uint64_t open = 0;  ///< 1: the thread's flagged lines are uncommitted
    /// The records [begin, end) of its log are committed, and not all home.
    uint64_t log_begin = 0;
    uint64_t log_end = 0;
  };
  struct Thread {
    std::vector<DesignLine> lines;   ///< that the transaction has stored to
    std::deque<DesignLine> queue;    ///< those of them that the log does not have, oldest first
    uint64_t head = 0;               ///< the next record of its log
    uint64_t begin = 0;              ///< the transaction's first record
    std::vector<std::byte> headers;  ///< the line of addresses that the head is in
    bool headers_written = true;     ///< the log has these
    Time logged = 0;                 ///< the time from which on the log has all that was sent
    Time home = 0;                   ///< the time from which on its committed records are home
    std::vector<Time> forced;  ///< lines of the queue on their way to the log: their acceptance
  };
  /// The lines that recovery writes home, by offset.
  using Remains = std::map<uint64_t, std::vector<std::byte>>;
  struct Record {
    size_t slot;
    uint64_t number;
  };

  static constexpr uint64_t kRecords = uint64_t{1} << 24;  ///< records of a thread's log
  static uint8_t flag_of(size_t slot) { return static_cast<uint8_t>(slot + 1); }
  static size_t slot_of(uint8_t flags) { return flags - size_t{1}; }
  Thread& of(const DesignTransaction& tx) { return threads_[static_cast<size_t>(tx.slot)]; }
  Place record_place(size_t slot, uint64_t record) const;
  Place header_place(size_t slot, uint64_t record) const;

  void set_register(size_t slot, const Register& value, Time now);
  Register register_of(size_t slot) const;
  Time enter(size_t slot, DesignLine line, Time now);
  void leave_queue(Thread& thread, DesignLine line);
  Time flush(Thread& thread, Time now);
  Time append(size_t slot, const LineMove& move, Time now);
  void write_headers(size_t slot, Time now);
  Time migrate(const Thread& thread, Time now);
  Time read_log(size_t slot, const Register& committed, Remains& remains, Time now);

  KilnOptions options_;
  Time write_time_ = 0;
  Time search_time_ = 0;
  std::vector<Thread> threads_;                  ///< by slot
  std::vector<Time> banks_;                      ///< the time from which on each is free
  std::unordered_map<uint64_t, Record> logged_;  ///< by offset: lines whose newest version is there
  std::vector<std::byte> filled_;                ///< the bytes of the latest fill
  uint64_t flushed_ = 0;
  uint64_t displaced_ = 0;
  uint64_t overflowed_ = 0;
  uint64_t reloaded_ = 0;
  uint64_t migrated_ = 0;
};

}  // namespace holdfast
