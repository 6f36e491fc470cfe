// SPDX-License-Identifier: Apache-2.0
//
// Hercules: transactions inside a cache hierarchy that survives a power failure ("Hercules:
// Enabling Atomic Durability for Persistent Memory with Transient Persistence Domain", ACM TECS
// 2023).
//
// Idea       In domain eadr the caches survive. A tag on each line (TransTag: transaction, state)
//            says whether its content is committed. So a commit moves no data.
// Store      The first store to a line tags it in L1. If L1 has the line dirty, its committed
//            content first goes one level down.
// Caches     Tagged lines may fill a part of the ways of L2 and of the last level. Older committed
//            content moves down when tagged content comes to its cache. A tag goes up with its
//            line.
// Too large  A tagged line that leaves the last level is written to a log in persistent memory
//            (PM). An entry of the extended write-pending queue (eWPQ) in the controller says
//            where. A full eWPQ moves its least recently used entry to an extension in PM. A miss
//            asks the eWPQ, and if entries lie in PM, the extension.
// Commit     The length of the transaction is stored to its element of the array TxLen, which lies
//            in cached PM. That is the commit point. Then the tags are cleared, in ten cycles.
// Abort      Tagged content is dropped. The committed content lies below.
// Background Every 3 million instructions committed entries of the eWPQ are migrated: the line is
//            read from the log and written home. If the log is long, its oldest entries are moved.
// Power      The caches write dirty lines home, tagged ones to an emergency area in PM.
// Recovery   A transaction with a TxLen above 0 has committed: its lines in log and emergency area
//            are written home. The others are dropped.
//
// Differences: decisions of this implementation, where the paper says nothing or cannot be built.
//   - A line that comes back from the log arrives dirty, since its eWPQ entry is cleared: a
//     committed line would else be lost when it leaves the caches clean.
//   - The extension of the eWPQ grows. The paper's ten times the eWPQ is too small for its own
//     largest transactions.
//   - Garbage collection migrates committed records, and appends uncommitted ones again.
//   - A number is used again after 2^21 transactions. Before, the lines of the log are migrated.
//   - Isolation is the program's by default. With option abort_touched an access by another core
//     aborts the transaction, and sees the content from before it. With option isolate a store by
//     another core to a line that the transaction has loaded aborts it, too.
//   - Recovery empties the log, so its head and tail need not survive.
//   - The tag has eight bits here, which name the hardware thread. A register of each thread has
//     the number of its transaction, which the paper's tag has itself.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "holdfast/hardware/parts/read_sets.h"
#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo hercules_info();

/// Hercules (ACM TECS 2023), tables 2 and 6 and section 4.
struct HerculesOptions {
  size_t ewpq_entries = 512;
  double search_cycles = 10;  ///< of the eWPQ
  double reset_cycles = 10;   ///< to clear the tags at commit
  int tag_percent = 30;       ///< more latency of a hit of a tagged line
  int l2_percent = 50;        ///< of the ways may hold tagged lines
  int llc_percent = 25;
  bool small_l1 = true;  ///< L1 gives up a sixteenth of its size for the tags
  uint64_t migrate_instructions = 3'000'000;
  uint64_t collect_entries = uint64_t{1} << 20;  ///< length of the log at which it is shortened
  uint64_t records = 1 << 21;  ///< of the log, a power of two; an entry has no more bits for them
  uint64_t numbers = (1 << 21) - 1;  ///< of transactions, before they are used again
  uint64_t spread = 1;               ///< lines of TxLen that consecutive transactions use in turn
  bool abort_touched = false;        ///< a transaction aborts if another core touches its lines
  bool isolate = false;              ///< ... or stores to a line that it has loaded
  bool printed_reload = false;       ///< a line from the log arrives clean
  bool printed_wrap = false;         ///< numbers are used again whatever the log has
};

/// The design "hercules". Hooks: see design.h. (Tests plant bugs in classes derived from it.)
class Hercules : public HardwareDesign {
 public:
  explicit Hercules(const HerculesOptions& options) : options_(options) {}

  DesignWishes wishes() const override;
  void adapt(MachineDescription& machine) const override;
  std::vector<StructureInfo> structures(const MachineDescription& machine) const override;
  std::span<const char* const> transitions() const override;
  void attach(DesignContext& context) override;

  Time begin(const DesignTransaction& tx, Time now) override;
  Time commit(const DesignTransaction& tx, Time now) override;
  Time abort(const DesignTransaction& tx, Time now) override;
  Time first_store(const DesignStore& store, Time now) override;
  void loaded(const DesignTransaction& tx, DesignLine line, Time now) override;

  void touched(const Touch& touch, Time now) override;
  Time hit(Level level, const Touch& touch, Time done) override;
  DesignFill fill(DesignLine line, int core, Time now) override;
  Leaving leaving(const LineMove& move, Time now) override;
  bool keeps(const CachedLine& resident, uint8_t coming_flags) override;
  size_t victim(const VictimChoice& choice) override;

  void tick(Time now) override;
  Time settle(Time now) override;
  void power_failure(PowerFailure& power) const override;
  Time recover(DesignRecovery& recovery, Time now) override;
  std::vector<std::pair<const char*, uint64_t>> counters() const override;

 private:
  /// The non-volatile structures.
  enum Structure : size_t { kQueue, kThreads, kExtension };
  enum Transition : size_t {
    kPushedDown,
    kFlushed,
    kReloaded,
    kQueueOverflowed,
    kMigrated,
    kAppendedAgain,
    kAborted,
  };

  /// An entry of the eWPQ as hardware has it: 64 bits, of which the addresses are a part only.
  struct Packed {
    static constexpr int kBits = 21;
    static uint64_t of(uint64_t tx, uint64_t home_line, uint64_t record, bool open);
    static uint64_t tx(uint64_t word) { return word & kMask; }
    static uint64_t record(uint64_t word) { return word >> (2 * kBits) & kMask; }
    static bool open(uint64_t word) { return word >> (3 * kBits) != 0; }
    static constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
  };
  /// An entry of the eWPQ or of its extension.
  struct Entry {
    uint64_t home = 0;  ///< offset of the line
    uint64_t tx = 0;
    int slot = 0;
    bool open = false;  ///< the transaction has not committed
    uint64_t record = 0;
    uint64_t used = 0;     ///< counts uses, for the choice of an entry to displace
    bool in_queue = true;  ///< else in the extension
    size_t place = 0;      ///< in the eWPQ or in the extension
  };
  struct Thread {
    uint64_t tx = 0;  ///< 0: none
    int core = 0;
    Time cleared = 0;               ///< from then on L1 has the element of TxLen
    std::vector<DesignLine> lines;  ///< that the transaction has tagged
    Time committed = 0;             ///< the time at which its commit is done; 0: not asked yet
  };
  struct Found {
    uint64_t home;
    Place at;
  };

  bool aborts_touched() const { return options_.abort_touched || options_.isolate; }
  static uint8_t tag_of(int slot) { return static_cast<uint8_t>(slot + 1); }
  Place record_place(uint64_t record) const;
  Place header_place(uint64_t record) const;
  Place extension_place(size_t entry) const;
  static Place emergency_place(uint64_t entry, size_t line_bytes, bool header);

  Time append(Entry& entry, const std::byte* bytes, Time now);
  Time insert(Entry entry, const std::byte* bytes, Time now);
  Time make_room(Time now);
  Time save(const Entry& entry, Time now);
  Time forget(const Entry& entry, Time now);
  Time set_extended(size_t entry, uint64_t word, Time now);
  void set_extension(uint64_t entries, Time now);
  Time take_number(uint64_t& number, Time now);
  Time migrate(Time now);
  Time migrate(const Entry& entry, Time now);
  void collect(Time now);
  size_t quota(Level level, size_t ways) const;
  Time find_remains(std::vector<Found>& committed, DesignRecovery& recovery, Time now);
  uint64_t element_of(uint64_t tx) const;
  bool has_committed(uint64_t tx, Time& now);

  HerculesOptions options_;
  Time search_time_ = 0;
  Time reset_time_ = 0;
  Time tag_time_[3] = {};
  std::vector<Thread> threads_;                   ///< by slot
  ReadSets read_sets_;                            ///< with option isolate
  std::unordered_map<uint64_t, Entry> entries_;   ///< by offset of the line
  std::unordered_map<uint64_t, uint64_t> homes_;  ///< by record: the offset of its line
  std::map<uint64_t, uint64_t> in_queue_;         ///< by use: the offset of a line in the eWPQ
  std::vector<size_t> free_;                      ///< entries of the eWPQ
  std::vector<size_t> free_extension_;
  std::vector<uint64_t> extended_;  ///< the entries of the extension, whole lines
  std::vector<std::byte> header_;   ///< the line of addresses that the log's head is in
  std::vector<std::byte> filled_;   ///< the bytes of the latest fill
  uint64_t head_ = 0;               ///< the log's next record
  uint64_t tail_ = 0;               ///< its oldest
  uint64_t extension_ = 0;          ///< entries of the extension; the register has it too
  uint64_t last_tx_ = 0;
  std::set<uint64_t> outlived_;  ///< numbers that were open when numbers began anew
  Time forgotten_ = 0;  ///< from then on all lines that have left the log survive elsewhere
  uint64_t uses_ = 0;
  uint64_t flushed_ = 0;
  uint64_t reloaded_ = 0;
  uint64_t overflowed_ = 0;
  uint64_t migrated_ = 0;
};

}  // namespace holdfast
