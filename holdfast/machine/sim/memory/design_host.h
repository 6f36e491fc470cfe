// SPDX-License-Identifier: Apache-2.0
//
// The host of a hardware design: it stands between the memory system and the design. It tracks
// transactions and the lines that they have stored to, calls the design's hooks, serves its
// requests, and keeps everything that survives a power failure. Its sources: design_host.cc
// (transactions, stores, caches), design_host_tlbs.cc, design_host_context.cc (requests),
// design_host_power.cc, design_host_checks.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/design/design.h"
#include "holdfast/machine/sim/design/design_image.h"
#include "holdfast/machine/sim/medium/persistence.h"
#include "holdfast/machine/sim/medium/sim_medium.h"
#include "holdfast/machine/sim/memory/address_table.h"
#include "holdfast/machine/sim/memory/design_faults.h"
#include "holdfast/machine/sim/memory/design_structures.h"
#include "holdfast/machine/sim/memory/design_writes.h"
#include "holdfast/machine/sim/threads/thread_runner.h"

namespace holdfast {

/// Counters of all threads. The design has further ones of its own.
struct DesignCounters {
  uint64_t transactions = 0;  ///< committed transactions
  uint64_t aborts = 0;        ///< by the program or by the design
  uint64_t doomed = 0;        ///< of these, by the design
  uint64_t first_stores = 0;  ///< first stores of a transaction to a line
  uint64_t stores = 0;        ///< calls of store()
  uint64_t fills = 0;         ///< misses that the design has served
  uint64_t dropped = 0;       ///< write-backs whose content the design has dropped
  uint64_t written_back = 0;  ///< lines that the caches have written to the medium
  uint64_t writes = 0;        ///< lines that the design has written, its own region included
  uint64_t reads = 0;         ///< lines that the design has read, its own region included
  uint64_t cancelled = 0;     ///< of `writes`, those that it has taken back
  /// Writes to persistent memory by cause. They add up to the controller's count, and those that
  /// merged in the queue or were taken back count as well.
  std::array<uint64_t, kCauses> by_cause{};
  /// Reads of persistent memory by cause. With those of the address table they add up to the
  /// controller's count.
  std::array<uint64_t, kReadCauses> reads_by_cause{};
  Time begin_waits = 0;   ///< time that starts of transactions have waited in store buffers
  Time commit_waits = 0;  ///< time that commits have waited in store buffers
  Time store_waits = 0;   ///< time that stores have waited in store buffers

  DesignCounters operator-(const DesignCounters& before) const;
};

/// A hook, a structure or a state transition of a design, and how often it was met.
struct DesignCoverageRow {
  std::string name;
  uint64_t count = 0;
  bool declared = false;  ///< the design has declared it: a structure or a transition
};

namespace sim {

class TimedMemory;  // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

/// The memory system, as the host uses it.
class DesignPower {
 public:
  /// A persist event is about to happen. Does not return if the power fails here.
  virtual void design_persist_event() = 0;
  virtual bool power_is_gone() const = 0;
  /// The design has failed. The machine ends as if the medium had failed.
  virtual void design_failed(const Status& why) = 0;
  /// The design has changed the newest bytes of a line.
  virtual void design_changed(uint32_t line) = 0;
  /// The transaction of this slot was aborted; its thread is not the current one, or waits.
  virtual void design_doomed(int slot) = 0;
  /// An epoch of the design has ended.
  virtual void design_epoch_ended() = 0;

 protected:
  ~DesignPower() = default;
};

/// Runs one hardware design inside the memory system.
class DesignHost final : private DesignContext, private AddressTableClient {
 public:
  /// `witness` is a second object of the same design, for power failures.
  DesignHost(HardwareDesign& design, const HardwareDesign& witness, const SimOptions& options,
             TimedMemory& timing, SimMedium& medium, Persistence& persistence,
             ThreadRunner::Threads& threads, DesignPower& power);

  // ---- Called in program order
  void issue_begin(const SimThread& thread);
  /// tx_commit or tx_abort of the thread.
  void issue_end(const SimThread& thread);
  bool commit_waits() const { return wishes_.commit_waits || wishes_.dooms; }
  bool isolates() const { return wishes_.isolates; }
  /// True if the design has aborted the thread's transaction and the thread does not know yet.
  bool doomed(const SimThread& thread) const { return thread.doomed != AbortCause::none; }
  /// The thread has learned of it.
  AbortCause caught(SimThread& thread);

  // ---- Called in the order in which entries leave the store buffer
  /// Returns `now` if the entry may leave, else the time at which to ask again.
  Time admit(const SimThread& thread, const Entry& entry, Time now) {
    return guarded(now, [&] {
      return entry.kind == EntryKind::store ? admit_store(thread, entry.word, now)
                                            : admit_marker(thread, entry.kind, now);
    });
  }
  /// The thread is about to load from the line.
  void loaded(const SimThread& thread, uint32_t line, Time now);
  /// A store is about to make the line dirty in this core's L1.
  void dirties(int core, uint32_t line);
  /// The store that was admitted last has its line.
  void has_line() { admitted_ = {}; }
  /// Aborts the thread's transaction; its store buffer is empty. Returns the time at which the
  /// thread continues.
  Time abort(const SimThread& thread, Time now);

  // ---- Called by the caches; see CacheClient
  bool is_own(uint32_t line) const { return line >= first_own_line_; }
  bool hits() const { return wishes_.hits; }
  /// The owner of the address table's content; null if the design does not ask for it.
  AddressTableClient* table_client() { return wishes_.address_table ? this : nullptr; }
  Time fill(uint32_t line, int core, Time now, uint32_t& bits);
  Time write_memory(uint32_t line, uint32_t meta, const std::byte* older, Time now);
  CacheClient::Left leaving(Level from, uint32_t line, uint32_t meta, const std::byte* older,
                            Time now);
  size_t victim(Level level, const CacheArray::Way* set, size_t ways, uint32_t line,
                uint32_t coming, bool present);
  bool keeps(Level at, uint32_t line, uint32_t resident, uint32_t coming);
  void touched(int slot, int core, uint32_t line, uint32_t flags, bool write, Time now);
  Time hit(Level level, int slot, int core, uint32_t line, uint32_t meta, bool write, Time done);
  void reaches_last_level();
  /// A page, named by its first line, has come to the core's TLBs or left them. tlb_filled()
  /// returns the time at which they have what the design adds.
  bool asks_tlbs() const { return wishes_.tlbs; }
  Time tlb_filled(int core, uint32_t line, Time now);
  void tlb_evicted(int core, uint32_t line, Time now);
  /// Writes the line back. Returns the time at which memory has accepted all its writes.
  Time write_back(uint32_t line, bool evict, Time now);
  /// A pwb on a machine that only emulates the medium's latency: writes the line's content to the
  /// medium, at no cost.
  void write_content(uint32_t line);

  /// Lets everything happen that is due: writes are accepted, ticks come.
  void pump(Time now);
  /// A persist event has happened.
  void persist_event_passed() { faults_.persist_event(); }

  // ---- Power
  /// The power fails now. Records what survives, which does not change any more.
  void power_failed() { failed_ = remains_now(); }
  /// Adds the design's state to an image of the medium.
  Image with_design(Image image) const;
  /// Before the run: what an earlier machine has left behind.
  void load(DesignRemains remains);
  bool needs_power_on() const { return needs_power_on_; }
  /// Lets the design recover. Returns the time at which it is done.
  Time power_on(Time now);
  const DesignRecovery& recovery() const { return recovery_; }
  /// Pages of the medium are about to be unmapped, or a test wants to see everything there: the
  /// design and, with `caches`, the caches write their content to it. Returns the time at which
  /// that is done.
  Time settle(Time now, bool caches);
  void forget_threads();

  DesignCounters counters() const;
  std::vector<DesignCoverageRow> coverage() const;
  const DesignChangeCounts& changes() const { return faults_.counts(); }
  /// Bytes of all non-volatile structures.
  uint64_t structure_bytes() const;

  /// Lines of the own region that the caches may hold, for the caches' tables.
  static size_t cached_own_lines(const HardwareDesign& design, size_t line_bytes) {
    return (design.wishes().cached_own_bytes + line_bytes - 1) / line_bytes;
  }

 private:
  class Failure;

  struct Before {
    uint32_t line;
    LineBytes bytes;
  };
  struct PerThread {
    DesignTransaction tx;
    bool issued = false;   ///< the program is between tx_start and tx_commit
    bool open = false;     ///< the entries that leave the store buffer belong to tx
    Time asked_since = 0;  ///< the time since which the oldest entry waits; 0: it does not
    std::unordered_map<uint32_t, size_t> known;  ///< by line stored to: its index in `before`
    std::vector<Before> before;
  };
  struct Remains {
    std::vector<std::pair<Place, std::vector<std::byte>>> writes;  ///< in their order
    DesignRemains design;
  };
  /// The hooks that coverage counts, in the order of hook_names().
  enum class Hook : uint8_t {
    begin,
    commit,
    abort,
    first_store,
    store,
    outside_store,
    loaded,
    hit,
    touched,
    fill,
    leaving_l1,
    leaving_l2,
    leaving_llc,
    keeps,
    memory_write,
    victim,
    tick,
    doom,
    cancel,
    home_write,
    own_write,
    table_leaves,
    table_missed,
    tlb_filled,
    tlb_evicted
  };
  static constexpr size_t kHooks = 25;
  void met(Hook hook) { ++met_[static_cast<size_t>(hook)]; }

  /// Returns the result of f(), which asks the design in a hook that may lack room. If that throws,
  /// the machine ends, because a line may be on its way between two caches. Such hooks are not
  /// called any more, and the result is `without`: a store buffer would else ask again, even when
  /// its thread has ended.
  template <class R, class F>
  R guarded(const R& without, F&& f) {
    if (design_failed_) {
      return without;
    }
    try {
      return f();
    } catch (const Error& error) {
      if (!power_.power_is_gone()) {
        design_failed_ = true;
        power_.design_failed(error.status());
      }
      throw;
    }
  }

  PerThread& of(const SimThread& thread) { return threads_[static_cast<size_t>(thread.slot)]; }
  Time admit_store(const SimThread& thread, const MaskedWord& word, Time now);
  Time admit_marker(const SimThread& thread, EntryKind kind, Time now);
  CacheArray::Way* held_in_l1(int core, uint32_t line, Time& now);
  Time transactional_store(PerThread& t, const CacheArray::Way& way, DesignLine line,
                           const MaskedWord& word, Time now);
  void remember(PerThread& t, uint32_t line);
  Time waited(PerThread& t, Time ready, Time now, Time& counter);
  void close(PerThread& t);
  void tick(Time now);
  void accept_until(Time now);
  void accept_write();
  Time settle_all(Time now, bool caches);
  Time finish_writes(Time now);
  void disturb(Time now);
  uint32_t line_of(uintptr_t address) const;
  /// The line's place in persistent memory; nothing for volatile memory.
  std::optional<DesignLine> on_medium(uint32_t line) const;
  /// As on_medium(). Throws Error(misuse) for volatile memory: only lines of the medium are filled
  /// and written back here.
  DesignLine medium_line(uint32_t line) const;
  std::byte* newest(uint32_t line) const;
  uint64_t queue_line(Place place) const;
  void check_place(Place place) const;
  void cached_line_changes(bool l1_only);
  void check_cached_own(uint64_t offset, size_t n) const;
  void check_fill(DesignLine at, const std::byte* bytes) const;
  Remains remains_now() const;
  DesignWrite write(Place to, const std::byte* bytes, Cause cause, Time now, bool cancelable,
                    bool from_caches);

  Place place_of(const DesignLine& line) const;
  void show_moved(size_t offset, size_t n, std::byte* at) const;

  // AddressTableClient
  size_t table_victim(std::span<const TableSlot> set) override;
  Time table_leaves(const TableSlot& slot, Time now) override;
  TableMiss table_missed(const TableSlot& slot, uint64_t line, Time now) override;

  // DesignContext
  const MachineDescription& machine() const override { return *options_.machine; }
  int cores() const override;
  size_t line_bytes() const override { return options_.line_bytes; }
  Time cycles(double n) const override;
  uint64_t instructions() const override;
  bool caches_survive() const override { return options_.domain == Domain::eadr; }
  DesignWrite write(Place to, const std::byte* bytes, Cause cause, Time now,
                    bool cancelable) override {
    return write(to, bytes, cause, now, cancelable, in_caches_);
  }
  Time read(Place from, std::byte* to, ReadCause cause, Time now) override;
  bool cancel(Ticket ticket, Time now) override;
  Time read_dram(uint64_t own_line, Time now) override;
  Time write_dram(uint64_t own_line, Time now) override;
  TableMapping look_up(Place home, Time now) override;
  void latest(Place from, std::byte* to) const override { writes_.latest(from, to); }
  std::span<const std::byte> entry(size_t structure, size_t entry) const override {
    return structures_.entry(structure, entry);
  }
  void change(size_t structure, std::span<const EntryChange> changes, Time now) override;
  void set_flags(uint32_t line, uint8_t flags) override;
  void set_flags_in_l1(int core, uint32_t line, uint8_t flags) override;
  uint8_t flags(uint32_t line) override;
  void drop(uint32_t line, const std::byte* below) override;
  Time push_down(int core, uint32_t line, Time now) override;
  Time write_to_last_level(uint32_t line, Time now) override;
  Time write_back(uint32_t line, Time now) override { return write_back(line, false, now); }
  void for_each_cached(FunctionRef<void(const CachedLine&)> f) override;
  void for_each_remaining(FunctionRef<void(const CachedLine&, const std::byte*)> f) override;
  Time store_own(int core, uint64_t offset, std::span<const std::byte> bytes, Time now) override;
  Time load_own(int core, uint64_t offset, std::span<std::byte> to, Time now) override;
  Time rewrite(int core, uint32_t line, const std::byte* bytes, Time now) override;
  Time roll_back(const DesignTransaction& tx, Time now) override;
  void doom(int slot, AbortCause cause, Time now) override;
  void epoch_ended() override { power_.design_epoch_ended(); }
  void wake_at(Time time) override { due_ = std::min(due_, time); }
  void passed(size_t transition) override { ++passed_.at(transition); }

  HardwareDesign& design_;
  const HardwareDesign& witness_;
  const SimOptions& options_;
  DesignWishes wishes_;
  TimedMemory& timing_;
  const SimMedium& medium_;
  Persistence& persistence_;
  ThreadRunner::Threads& sim_threads_;
  DesignPower& power_;
  uint32_t first_own_line_;  ///< its number in the caches; those from here on are of the own region
  DesignWrites writes_;
  DesignStructures structures_;
  DesignFaults faults_;
  ZeroedArray<std::byte> own_newest_;  ///< the newest bytes of cached own lines
  std::vector<PerThread> threads_;     ///< by slot
  std::vector<int> open_on_core_;      ///< by core: its open transactions
  /// The store that may leave next. The design knows of it, and the arena does not. Its mask is 0
  /// if there is none.
  MaskedWord admitted_{};
  uint64_t last_id_ = 0;
  uint64_t last_write_ = 0;
  Time due_ = ~Time{0};  ///< the time of the next tick
  uint64_t due_instructions_ = ~uint64_t{0};
  bool design_failed_ = false;
  bool pumping_ = false;               ///< pump() runs
  bool accepting_ = false;             ///< accept_write() runs
  bool in_caches_ = false;             ///< a hook for a line that leaves the caches runs
  Time latest_ = 0;                    ///< the latest time that pump() has seen
  std::optional<Random> disturbance_;  ///< SimOptions::disturb
  std::array<uint32_t, 16> recent_{};  ///< lines of late stores, for disturb()
  size_t next_recent_ = 0;
  std::optional<Remains> failed_;
  DesignRemains loaded_;
  bool needs_power_on_ = false;
  DesignRecovery recovery_;
  DesignCounters counters_;
  std::array<uint64_t, kHooks> met_{};
  std::vector<uint64_t> changed_;  ///< by structure
  std::vector<uint64_t> passed_;   ///< by transition
};

}  // namespace sim
}  // namespace holdfast
