// SPDX-License-Identifier: Apache-2.0
//
// FWB: undo and redo records in a log, and a scan that writes dirty lines back (Ogleari, Miller,
// Zhao: "Steal but No Force", HPCA 2018; as Hercules, ACM TECS 2023, describes and compares it).
//
// Idea       With undo and redo of each word in a log, lines may go home before the commit (steal),
//            and need not go home at the commit (no force).
// Store      Each store puts a record into the core's log buffer: the word's place, its old and its
//            new bytes. The memory controller combines records to lines, and writes these to a
//            circular log in persistent memory. A store waits if its core's buffer is full.
// Order      A line goes home no earlier than the controller has accepted its records and all
//            records before them. So the log that a power failure leaves behind has no gap that
//            counts.
// Commit     A commit record behind the transaction's records. The transaction is durable when all
//            of the log up to there is accepted.
// Scan       Force write-back: a first scan of the caches marks the lines that are dirty, the next
//            one writes back those that still are. Then records from before the first scan are of
//            no use, and the log's tail moves behind them, up to the oldest open transaction.
// Log full   Stores wait until a scan has moved the tail.
// Abort      The old bytes are stored again and written back; then an abort record follows.
// Recovery   The log is read up to its first gap. The new words of committed transactions are
//            written home, then the old words of those that have no end.
//
// Differences: decisions of this implementation.
//   - Each line of the log has a number that never repeats, and not a torn bit for each record.
//   - The original relies on the time that a line takes through the caches for the order of log and
//     data. Here the controller keeps a line back.
//   - A line that the log has and that is stored to outside transactions gets a record when it goes
//     home, so that recovery does not put words from before there.
//   - Isolation is the program's: no access aborts another thread's transaction.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "holdfast/hardware/parts/own_log.h"
#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo fwb_info();

struct FwbOptions {
  /// A published sentence to take at its word. All but `none` lose data at a power failure.
  enum class Printed : uint8_t {
    none,
    order,  ///< the way through the caches takes longer than the log's: nothing keeps lines back
    wrap,   ///< scans are so frequent that the log does not wrap around before lines are home
    abort,  ///< an abort stores the old bytes again, and no more
  };
  size_t buffer = 16;                ///< records of a core's log buffer
  uint64_t log = uint64_t{4} << 20;  ///< bytes of the log
  double scan_cycles = 3'000'000;    ///< from the end of a scan to the next
  size_t scan_lines = 64;            ///< lines that a scan has on their way
  Printed printed = Printed::none;
};

/// The design "fwb". Hooks: see design.h.
class Fwb final : public HardwareDesign {
 public:
  explicit Fwb(const FwbOptions& options) : options_(options) {}

  DesignWishes wishes() const override { return {.every_store = true}; }
  std::span<const char* const> transitions() const override;
  void attach(DesignContext& context) override;

  Time commit(const DesignTransaction& tx, Time now) override;
  Time abort(const DesignTransaction& tx, Time now) override;
  Time first_store(const DesignStore& store, Time now) override;
  Time store(const DesignStore& store, Time now) override { return log(store, now); }
  uint8_t outside_store(DesignLine line, uint8_t flags) override;
  DesignFill fill(DesignLine line, int core, Time now) override;
  MemoryWrite memory_write(const LineMove& move, Time now) override;
  void tick(Time now) override;
  Time settle(Time now) override;

  void power_failure(PowerFailure& /*power*/) const override {}  // the queue drains by itself
  Time recover(DesignRecovery& recovery, Time now) override;
  std::vector<std::pair<const char*, uint64_t>> counters() const override;

 private:
  enum Transition : size_t { kWaited, kFull, kHeld, kForced, kFreed, kOutsideHome, kAborted };
  enum class Kind : uint64_t { word, commit, abort, outside };

  /// A record: 24 bytes.
  struct Record {
    uint64_t home_bytes : 48;  ///< the word's offset on the medium; of kind `outside` the line's
    uint64_t slot : 12;        ///< of the thread
    uint64_t kind : 4;
    uint64_t undo;
    uint64_t redo;
  };
  /// The beginning of a line of the log. Records follow, one behind the other: the last one of a
  /// line may go on in the next.
  struct Head {
    uint64_t number : 48;  ///< of the slot, from 1
    uint64_t first : 8;    ///< the place of the first record that begins in this line
    uint64_t used : 8;     ///< bytes of records in this line
  };
  /// The line that gets the next record.
  struct OpenLine {
    uint64_t slot = 0;
    size_t used = 0;  ///< bytes of records; 0: there is no such line
    size_t sent = 0;  ///< of them, those that were written to the log
    std::vector<std::byte> bytes;
  };
  struct Thread {
    bool open() const { return !lines.empty(); }

    std::vector<uint32_t> lines = {};  ///< that its transaction has stored to
    std::vector<uint64_t> slots = {};  ///< that its records begin in, ascending
    Time durable = 0;                  ///< the commit record is accepted then; 0: not written
    Time aborted = 0;  ///< the abort record of the transaction before is accepted then
  };
  /// The latest record of a line.
  struct Recorded {
    uint64_t slot = 0;  ///< that it begins in
    Time accepted = 0;  ///< with all records before it; kUnsent: not sent
  };
  enum class Scan : uint8_t { idle, writing, freeing };
  using Words = std::map<uint64_t, uint64_t>;  ///< values by place

  static constexpr uint8_t kFilled = 1;   ///< flag of every line
  static constexpr uint8_t kOutside = 2;  ///< stored to outside transactions since its last record
  static constexpr Time kUnsent = ~Time{0};

  Thread& of(const DesignTransaction& tx) { return threads_[static_cast<size_t>(tx.slot)]; }
  /// Bytes of records in a line.
  size_t payload() const { return context().line_bytes() - sizeof(Head); }
  bool open_line_has_room() const { return open_.used != 0 && open_.used < payload(); }
  /// Slots that are left for records that cannot wait.
  uint64_t reserve() const { return threads_.size() + 16; }
  Time log(const DesignStore& store, Time now);
  Time buffered(int core, Time now);
  Time room(const DesignTransaction& tx, Time now);
  uint64_t oldest_open(Time now) const;
  uint64_t append(const Record& record, Time now);
  void begin_line(size_t first);
  void append_end(const DesignTransaction& tx, Kind kind, Time now);
  void send(Time now);
  uint64_t covered_end() const;
  void schedule(Time now);
  void begin_scan(Time now);
  void write_marked(Time now);
  void free_log(Time now);
  void move_tail(uint64_t tail);
  Time read_log(std::vector<Record>& records, Time now);
  Words words_of(const std::vector<Record>& records, DesignRecovery& recovery) const;

  FwbOptions options_;
  OwnLog log_;
  OpenLine open_;
  Time logged_ = 0;                         ///< all that was sent to the log is accepted then
  std::vector<Thread> threads_;             ///< by slot
  std::vector<std::vector<Time>> buffers_;  ///< by core: the times at which records are accepted
  std::unordered_map<uint32_t, Recorded> recorded_;  ///< by line
  std::vector<uint32_t> unsent_;  ///< lines with records in the open line that were not sent

  // ---- the scan
  Scan scan_ = Scan::idle;
  bool scheduled_ = false;
  std::unordered_set<uint32_t> marked_;  ///< lines that a scan has found dirty: their fwb bits
  std::vector<uint32_t> to_write_;       ///< marked lines that this scan writes back
  uint64_t scan_begin_ = 0;              ///< covered_end() when this scan began
  uint64_t last_begin_ = 0;              ///< when the scan before began
  uint64_t last_word_ = ~uint64_t{0};    ///< the slot of the latest record of a store
  uint64_t next_tail_ = 0;
  Time due_ = 0;   ///< of the scan's next step
  Time home_ = 0;  ///< lines with records that have left for home are accepted then

  uint64_t records_ = 0;
  uint64_t lines_ = 0;
  uint64_t scans_ = 0;
  uint64_t forced_ = 0;
  uint64_t outside_ = 0;
};

}  // namespace holdfast
