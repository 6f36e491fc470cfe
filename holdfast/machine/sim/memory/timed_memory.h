// SPDX-License-Identifier: Apache-2.0
//
// The time that memory operations take: the cores' windows, the caches, the memory controllers, and
// the costs of transactions. It holds no values. MemorySystem calls it when an operation of a timed
// run begins, ends, or leaves a store buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "holdfast/machine/sim/caches/coherent_caches.h"
#include "holdfast/machine/sim/caches/memory_controller.h"
#include "holdfast/machine/sim/caches/tlb.h"
#include "holdfast/machine/sim/description/machine_description.h"
#include "holdfast/machine/sim/htm/htm_unit.h"
#include "holdfast/machine/sim/medium/sim_medium.h"
#include "holdfast/machine/sim/memory/address_table.h"
#include "holdfast/machine/sim/memory/window.h"
#include "holdfast/machine/sim/threads/thread_runner.h"

namespace holdfast::sim {

class DesignHost;  // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

/// The timing of one machine. It advances the clocks of threads. docs/inside/sim-time.md has the
/// rules, machine descriptions the numbers.
class TimedMemory final : private CacheClient {
 public:
  TimedMemory(const MachineDescription& machine, const Arena& arena, const SimMedium& medium,
              Persistence& persistence, HtmUnit& htm, ThreadRunner::Threads& threads,
              bool huge_pages, size_t cached_own_lines = 0);

  /// Places the workers, which all begin at the same instant: one on each core while there are
  /// cores, then a second one on each, and so on. Main and background run on the service core.
  void start_run(int workers);

  // ---- Loads
  // Order of calls: issue() before the scheduling point, load() at it, loaded() with the value.
  void issue(SimThread& thread, uintptr_t address) {
    const Time start = of(thread).window.issue(address, thread.stats.instructions, thread.clock);
    thread.stats.stall_load += start - thread.clock;
    thread.clock = start;
  }
  /// Brings the line to L1, and reports the load to the hardware transactions if the bits in L1 do
  /// not rule out a conflict. Returns true if the thread's open transaction has written the line.
  bool load(SimThread& thread, uint32_t line) {
    if (tlbs_) [[unlikely]] {
      return load_translated(thread, line);
    }
    return load_physical(thread, line);
  }
  /// load() with a physical address.
  bool load_physical(SimThread& thread, uint32_t line) {
    const PerThread& t = of(thread);
    CacheArray::Way* way = caches_.in_l1(t.core, line);
    if (way == nullptr || !settles(t, *thread.tx, way->meta)) {
      return load_asking(thread, line, way);
    }
    return load_settled(thread, line, way->meta);
  }
  /// True if the load concerns no other thread: it hits L1, and the line's bits there (`meta`) rule
  /// out a conflict.
  bool settled(SimThread& thread, uint32_t line, uint32_t& meta) {
    const PerThread& t = of(thread);
    const CacheArray::Way* way = caches_.in_l1(t.core, line);
    if (way == nullptr) {
      prefetch(t, line);
      return false;
    }
    meta = way->meta;
    return settles(t, *thread.tx, meta) && (!tlbs_ || in_first_tlb(t, line));
  }
  /// load() of a settled() line, if no other agent has acted since.
  bool load_settled(SimThread& thread, uint32_t line, uint32_t meta) {
    PerThread& t = of(thread);
    found_in_l1(thread, t, line);
    ++thread.stats.load_from[0];
    return thread.tx->open && (meta & t.writer_bit) != 0;
  }
  /// Other agents will act before the thread loads this line. Prefetches, on the host, the data of
  /// the load.
  void expect(const SimThread& thread, uint32_t line) {
    const PerThread& t = of(thread);
    if (!caches_.peek_l1(t.core, line)) {
      prefetch(t, line);
    }
  }
  /// True if the load waits for a line on its way. It need not wait if the store buffer has all its
  /// bytes; forwarded() says so.
  bool waits_for_line(const SimThread& thread) const { return of(thread).merged; }
  void forwarded(SimThread& thread) {
    PerThread& t = of(thread);
    t.merged = false;
    t.done = thread.clock + caches_.l1_time();
  }
  void loaded(SimThread& thread, uint64_t value) {
    PerThread& t = of(thread);
    if (t.level == Level::l1) {
      t.merged ? t.window.merged(value, t.done) : t.window.hit(value, t.done);
    } else {
      t.window.missed_value(value);
    }
    operation(thread);
  }

  // ---- Stores
  // Order of calls: enter() when the store enters the buffer, acquire() when it is about to leave,
  // left() when it has left.
  /// Returns the time from which on the store may leave.
  Time enter(SimThread& thread, uint32_t line) {
    PerThread& t = of(thread);
    operation(thread);
    // A store retires behind the loads before it, and leaves only then. Otherwise the release of a
    // lock could leave before the loads that the lock protects.
    Time ready = std::max(thread.clock, t.window.loads_done());
    Time asked = thread.clock;
    if (tlbs_) [[unlikely]] {
      asked = translate(thread, line, asked);
      ready = std::max(ready, asked);
    }
    if (!owned(t, line)) {
      ready = std::max(ready, own(thread, line, asked).done);
    }
    t.last_leave = std::max(ready, t.last_leave + t.cycle);
    return t.last_leave;
  }
  Time enter_write_back(SimThread& thread, uint32_t line);
  Time enter_nontemporal(SimThread& thread, uint32_t line);
  /// True if the entry of the store concerns no other thread: the core owns the line already.
  bool enters_quietly(SimThread& thread, uint32_t line) {
    const PerThread& t = of(thread);
    if (!owned(t, line)) {
      prefetch(t, line);
      return false;
    }
    return !thread.buffer.full() && (!tlbs_ || in_first_tlb(t, line));
  }
  /// The core gets the line for a store that is about to leave. If the line was taken away
  /// meanwhile, fetches it again, sets `entry.leave` to the new time and returns false. With
  /// `now_or_never`, and the second time, the store leaves at once.
  bool acquire(SimThread& thread, Entry& entry, Time now, bool now_or_never) {
    const auto line = static_cast<uint32_t>((entry.word.address - kArenaBase) >> line_shift_);
    return owned(of(thread), line) || acquire_again(thread, entry, line, now, now_or_never);
  }
  /// Marks the line dirty, and reports the store to the hardware transactions.
  void left(SimThread& thread, EntryKind kind, uint32_t line);
  /// A non-temporal word leaves the store buffer. Removes the line from all caches.
  void leaves_around_caches(SimThread& thread, uint32_t line, Time now);
  /// The word has reached its thread's write-combining buffer, which holds one line. The buffer
  /// goes to memory when it is full, when another line needs it, and at fences that wait for
  /// write-backs.
  void left_around_caches(SimThread& thread, uintptr_t address, Time now);
  /// Sends the write-combining buffers of all threads to memory.
  void send_all_combined();
  bool stores_around_caches() const { return !is_emulated(write_back_); }
  /// An atomic read-modify-write. The thread waits for its loads and for the line.
  void atomic(SimThread& thread, uint32_t line);

  void pause(SimThread& thread) { thread.clock += ps(machine_.core.pause_cycles); }
  void work(SimThread& thread, uint64_t cycles);
  /// The cost of one operation with the instructions around it.
  void operation(SimThread& thread) {
    thread.clock += of(thread).operation;
    thread.stats.instructions += instructions_per_operation_;
  }

  // ---- Persistence
  /// The cost of the instruction pwb.
  void pwb(SimThread& thread);
  /// A write-back leaves the store buffer.
  void write_back(SimThread& thread, uint32_t line, Time now);
  /// A fence: the thread waits for its loads, and if asked for its write-backs. Its store buffer is
  /// empty.
  void fence(SimThread& thread, bool waits_for_write_backs);
  /// The thread waits until its loads have returned.
  void await_loads(SimThread& thread) { thread.clock = of(thread).window.drain(thread.clock); }
  bool pwb_waits() const { return write_back_ == WriteBackKind::serial; }
  void persist_fence(SimThread& thread) { thread.clock += persist_fence_; }

  // ---- Hardware transactions
  void begin(SimThread& thread);
  void suspend_or_resume(SimThread& thread) { thread.clock += switch_tracking_; }
  /// Waits for the thread's loads, as an atomic does. Its store buffer is empty.
  void commit(SimThread& thread) {
    await_loads(thread);
    thread.clock += ps(machine_.htm.commit_cycles);
  }
  void aborted(SimThread& thread) { thread.clock += ps(machine_.htm.abort_cycles); }
  /// True if an interrupt of this thread has come during its running transaction.
  bool interrupted(const SimThread& thread) const {
    return thread.clock >= of(thread).next_interrupt;
  }
  /// The transaction of this slot gives up its lines.
  void released(int slot, const Transaction& tx, bool aborted);

  /// From now on reads and writes of persistent lines go through the hardware design.
  void attach(DesignHost& design);
  /// The caches' numbers from here on are lines of the design's own region.
  uint32_t arena_lines() const { return arena_lines_; }
  /// Takes all pages out of all TLBs.
  void empty_tlbs(Time now);
  int core(int slot) const { return per_[static_cast<size_t>(slot)].core; }
  /// The thread whose access the caches and memories serve now.
  SimThread& actor() { return actor_ != nullptr ? *actor_ : *threads_.front(); }

  /// Looks up the mapping of a line of persistent memory, by its number for the controller. Without
  /// an address table it is known at once.
  AddressTable::Found look_up(uint64_t line, Time now) {
    return table_ ? look_up_in_table(line, now) : AddressTable::Found{.known = now};
  }
  CoherentCaches& caches() { return caches_; }
  MemoryController& dram() { return machine_.one_memory ? medium_controller_ : dram_; }
  MemoryController& medium_controller() { return medium_controller_; }
  const MemoryController& medium_controller() const { return medium_controller_; }
  Time ps(double cycles) const {
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): never negative, and lround is a call
    return static_cast<Time>(cycles * cycle_ps_ + 0.5);
  }

 private:
  /// The state of one thread. The members that every load needs come first.
  struct alignas(64) PerThread {
    int core = 0;
    uint32_t reader_bit = 0;
    uint32_t writer_bit = 0;
    /// Bits of a line in L1 that make a load ask: the writer bits of the core's other threads, and
    /// the flags of a design that wants to know of hits.
    uint32_t asking = 0;
    Time operation = 1;
    Time done = 0;            ///< the time at which the present load returns
    Level level = Level::l1;  ///< the place where the present load has found its line
    bool merged = false;      ///< the present load waits for a line on its way
    Time next_interrupt = ~Time{0};
    Time cycle = 1;
    Time last_leave = 0;  ///< the time at which the youngest store in the buffer may leave
    Window window;
    int smt = 0;
    double cycle_exact = 1;
    Time write_backs_done = 0;
    uint32_t combined_words = 0;  ///< the words in the write-combining buffer, a bit each
    uint32_t combined_line = 0;
    Time combined_ready = 0;  ///< the time from which on no cache has the line
  };

  PerThread& of(const SimThread& thread) { return per_[static_cast<size_t>(thread.slot)]; }
  const PerThread& of(const SimThread& thread) const {
    return per_[static_cast<size_t>(thread.slot)];
  }
  /// True if the line's bits in L1 rule out a conflict, and a tracked load need not be noted.
  static bool settles(const PerThread& t, const Transaction& tx, uint32_t meta) {
    return (meta & t.asking) == 0 && (!tx.active() || tx.tracking == Tracking::stores ||
                                      (meta & (t.reader_bit | t.writer_bit)) != 0);
  }
  /// The load's line is in L1, or on its way there for an earlier access of this thread.
  void found_in_l1(const SimThread& thread, PerThread& t, uint32_t line) const {
    t.level = Level::l1;
    t.done = thread.clock + caches_.l1_time();
    t.merged = false;
    if (t.window.misses_in_flight()) {
      const Time arrival = t.window.arrival(line);
      t.merged = arrival > t.done;
      t.done = std::max(t.done, arrival);
    }
  }
  void place(int slot, int core, int smt, int sharers);
  /// Called before other agents act, so that the host's own cache misses overlap with their work.
  void prefetch(const PerThread& t, uint32_t line) { caches_.prefetch(t.core, line); }
  bool owned(const PerThread& t, uint32_t line) {
    const CacheArray::Way* way = caches_.in_l1(t.core, line);
    return way != nullptr && (way->meta & LineBits::kOwned) != 0;
  }
  bool load_asking(SimThread& thread, uint32_t line, CacheArray::Way* way);
  // Translations: timed_translation.cc
  bool load_translated(SimThread& thread, uint32_t line);
  Time translate(SimThread& thread, uint32_t line, Time now);
  uint32_t page_of(uint32_t line) const { return line >> page_shift_; }
  bool in_first_tlb(const PerThread& t, uint32_t line) {
    return tlbs_->in_first(static_cast<size_t>(t.core), page_of(line));
  }
  void left_tlbs(int core, uint32_t page, Time now);
  bool acquire_again(SimThread& thread, Entry& entry, uint32_t line, Time now, bool now_or_never);
  void consult(SimThread& thread, uint32_t line);
  void mark(SimThread& thread, uint32_t line, CacheArray::Way& way);
  CoherentCaches::Outcome own(SimThread& thread, uint32_t line, Time now);
  CacheArray::Way* design_gets_store(SimThread& thread, uint32_t line, CacheArray::Way* way);
  void send_combined(SimThread& thread, Time now);
  void doom_threads(int core, uint32_t smt_mask);

  AddressTable::Found look_up_in_table(uint64_t line, Time now);
  Time read_volatile(uint32_t line, Time now);
  Time write_volatile(uint32_t line, Time now);
  Time read_memory(uint32_t line, Time now, Level& level, uint32_t& bits) override;
  Time write_memory(uint32_t line, uint32_t meta, const std::byte* older, Time now) override;
  void left_l1(int core, uint32_t line, uint32_t readers, uint32_t writers) override;
  void left_llc(uint32_t line, uint64_t l2s) override;
  bool tracked(uint32_t line) override { return htm_.tracked(line); }
  Left leaving(Level from, uint32_t line, uint32_t meta, const std::byte* older, Time now) override;
  size_t victim(Level level, const CacheArray::Way* set, size_t ways, uint32_t line,
                uint32_t coming, bool present) override;
  bool keeps(Level at, uint32_t line, uint32_t resident, uint32_t coming) override;
  void touched(int core, uint32_t line, uint32_t flags, bool write, Time now) override;
  Time hit(Level level, int core, uint32_t line, uint32_t meta, bool write, Time done) override;
  void reaches_last_level() override;
  bool persistent(uint32_t line) const;

  const MachineDescription& machine_;
  const SimMedium& medium_;
  Persistence& persistence_;
  HtmUnit& htm_;
  ThreadRunner::Threads& threads_;
  CoherentCaches caches_;
  MemoryController dram_;
  MemoryController medium_controller_;
  std::optional<AddressTable> table_;
  DesignHost* design_ = nullptr;  ///< null: none
  std::vector<PerThread> per_;
  std::vector<std::vector<int>> slots_of_core_;
  double cycle_ps_;
  uint64_t instructions_per_operation_;
  WriteBackKind write_back_;
  Time write_back_cost_;
  Time persist_fence_;
  Time switch_tracking_ = 0;
  Time interrupt_period_ = 0;
  int line_shift_;
  uint32_t arena_lines_;
  uint32_t first_table_line_;   ///< the page tables' first line, for the caches
  int page_shift_;              ///< of a line's number, for its page
  std::optional<Tlbs> tlbs_;    ///< nothing: translations cost nothing
  uint32_t asking_flags_ = 0;   ///< flags of lines in L1 whose accesses the design wants to know
  SimThread* actor_ = nullptr;  ///< see actor(); not always the running thread
};

}  // namespace holdfast::sim
