// SPDX-License-Identifier: Apache-2.0
//
// What time memory operations take: the cores' windows, the caches, the memory controllers, and the
// cost of transactions. Values stay where they are; MemorySystem asks here when an operation of a
// timed run begins, ends, or leaves a store buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/sim/caches/coherent_caches.h"
#include "holdfast/machine/sim/caches/memory_controller.h"
#include "holdfast/machine/sim/description/machine_description.h"
#include "holdfast/machine/sim/htm/htm_unit.h"
#include "holdfast/machine/sim/medium/sim_medium.h"
#include "holdfast/machine/sim/medium/window.h"
#include "holdfast/machine/sim/threads/runner.h"

namespace holdfast::sim {

class DesignHost;  // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final

class TimedMemory final : private CacheClient {
 public:
  TimedMemory(const MachineDescription& machine, const Arena& arena, const SimMedium& medium,
              Persistence& persistence, HtmUnit& htm, Runner::Threads& threads);

  /// Workers 0 ... n-1 begin at the same instant, one per core while there are cores, then the
  /// second threads of the cores, and so on. Main and background have the service core.
  void start_run(int workers);

  // Loads: issue() before the operation's scheduling point, load() at it, loaded() with the value.
  void issue(SimThread& thread, uintptr_t address) {
    const Time start = of(thread).window.issue(address, thread.stats.instructions, thread.clock);
    thread.stats.stall_load += start - thread.clock;
    thread.clock = start;
  }
  /// Consults the hardware transactions where it must, and brings the line to L1. True: the
  /// thread's own open transaction has written the line.
  bool load(SimThread& thread, uint32_t line) {
    const PerThread& t = of(thread);
    CacheArray::Way* way = caches_.in_l1(t.core, line);
    if (way == nullptr || !settles(t, *thread.tx, way->meta)) {
      return load_asking(thread, line, way);
    }
    return load_settled(thread, line, way->meta);
  }
  /// The load concerns nobody else: a hit in L1 that the bits there, `meta`, settle.
  bool settled(SimThread& thread, uint32_t line, uint32_t& meta) {
    const PerThread& t = of(thread);
    const CacheArray::Way* way = caches_.in_l1(t.core, line);
    if (way == nullptr) {
      prefetch(t, line);
      return false;
    }
    meta = way->meta;
    return settles(t, *thread.tx, meta);
  }
  /// load() of such a line, if nothing has happened since.
  bool load_settled(SimThread& thread, uint32_t line, uint32_t meta) {
    PerThread& t = of(thread);
    found_in_l1(thread, t, line);
    ++thread.stats.load_from[0];
    return thread.tx->open && (meta & t.writer_bit) != 0;
  }
  /// Others take their turns before the thread loads this line.
  void expect(const SimThread& thread, uint32_t line) {
    const PerThread& t = of(thread);
    if (!caches_.peek_l1(t.core, line)) {
      prefetch(t, line);
    }
  }
  /// The load's line is on its way; but if its bytes stand in the store buffer, it need not wait.
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

  // Stores: enter() when one enters the buffer, returns when it may leave; acquire() when it wants
  // to; left() when it does.
  Time enter(SimThread& thread, uint32_t line) {
    PerThread& t = of(thread);
    operation(thread);
    // It retires, and may leave then, behind the loads before it: a lock is not released earlier
    // than what it protects was read.
    Time ready = std::max(thread.clock, t.window.loads_done());
    if (!owned(t, line)) {
      ready = std::max(ready, own(thread, line, thread.clock).done);
    }
    t.last_leave = std::max(ready, t.last_leave + t.cycle);
    return t.last_leave;
  }
  Time enter_write_back(SimThread& thread);
  Time enter_nontemporal(SimThread& thread);
  /// Entering concerns nobody else: the line is the core's already.
  bool enters_quietly(SimThread& thread, uint32_t line) {
    const PerThread& t = of(thread);
    if (!owned(t, line)) {
      prefetch(t, line);
      return false;
    }
    return !thread.buffer.full();
  }
  /// False: the line was taken away meanwhile; `entry.leave` is the new time. With `now_or_never`,
  /// or the second time, the line is taken back at once.
  bool acquire(SimThread& thread, Entry& entry, Time now, bool now_or_never) {
    const auto line = static_cast<uint32_t>((entry.word.address - kArenaBase) >> line_shift_);
    return owned(of(thread), line) || acquire_again(thread, entry, line, now, now_or_never);
  }
  /// Tells the hardware transactions; the line is dirty now.
  void left(SimThread& thread, EntryKind kind, uint32_t line);
  /// A word leaves for memory: no cache keeps its line.
  void leaves_around_caches(SimThread& thread, uint32_t line, Time now);
  /// It is in its thread's write-combining buffer now. There is one, of a line; it goes to memory
  /// when it is full, when another line needs it, and at fences that wait for write-backs.
  void left_around_caches(SimThread& thread, uintptr_t address, Time now);
  void send_all_combined();
  bool stores_around_caches() const { return !is_emulated(write_back_); }
  /// An atomic read-modify-write gets its line; the thread goes on when it has.
  void atomic(SimThread& thread, uint32_t line);

  void pause(SimThread& thread) { thread.clock += ps(machine_.core.pause_cycles); }
  /// Private computation.
  void work(SimThread& thread, uint64_t cycles);
  /// The instruction itself.
  void operation(SimThread& thread) {
    thread.clock += of(thread).operation;
    thread.stats.instructions += instructions_per_operation_;
  }

  // Persistence.
  /// A pwb: what the thread spends on the instruction.
  void pwb(SimThread& thread);
  /// A write-back leaves the store buffer.
  void write_back(SimThread& thread, uint32_t line, Time now);
  /// A fence waits for the thread's loads and write-backs. The store buffer is empty.
  void fence(SimThread& thread, bool waits_for_write_backs);
  /// The thread needs the values of its loads before it can go on.
  void await_loads(SimThread& thread) { thread.clock = of(thread).window.drain(thread.clock); }
  bool pwb_waits() const { return write_back_ == WriteBackKind::serial; }
  void persist_fence(SimThread& thread) { thread.clock += persist_fence_; }

  // Hardware transactions.
  void begin(SimThread& thread);
  void suspend_or_resume(SimThread& thread) { thread.clock += switch_tracking_; }
  /// Waits for the loads, like an atomic (and so does the store buffer, before).
  void commit(SimThread& thread) {
    await_loads(thread);
    thread.clock += ps(machine_.htm.commit_cycles);
  }
  void aborted(SimThread& thread) { thread.clock += ps(machine_.htm.abort_cycles); }
  /// An interrupt of this thread fell into its running transaction.
  bool interrupted(const SimThread& thread) const {
    return thread.clock >= of(thread).next_interrupt;
  }
  /// The transaction of this slot holds these lines no longer.
  void released(int slot, const Transaction& tx, bool aborted);

  /// From now on the hardware design takes part in what happens to persistent lines.
  void attach(DesignHost& design) { design_ = &design; }
  int core(int slot) const { return per_[static_cast<size_t>(slot)].core; }
  /// Whose access the caches and memories are at work for.
  SimThread& actor() { return actor_ != nullptr ? *actor_ : *threads_.front(); }

  CoherentCaches& caches() { return caches_; }
  MemoryController& dram() { return dram_; }
  MemoryController& medium_controller() { return medium_controller_; }
  Time ps(double cycles) const {
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): never negative, and lround is a call
    return static_cast<Time>(cycles * cycle_ps_ + 0.5);
  }

 private:
  /// What every load needs stands first.
  struct alignas(64) PerThread {
    int core = 0;
    uint32_t reader_bit = 0;
    uint32_t writer_bit = 0;
    uint32_t others_writers = 0;  ///< writer bits of the core's other threads
    Time operation = 1;
    Time done = 0;            ///< when the load under way returns
    Level level = Level::l1;  ///< where it found its line
    bool merged = false;      ///< it waits for a line on its way
    Time next_interrupt = ~Time{0};
    Time cycle = 1;
    Time last_leave = 0;  ///< of the youngest store in the buffer
    Window window;
    int smt = 0;
    double cycle_exact = 1;
    Time write_backs_done = 0;
    uint32_t combined_words = 0;  ///< bits; 0: the write-combining buffer is empty
    uint32_t combined_line = 0;
    Time combined_ready = 0;  ///< no cache has the line any more
  };

  PerThread& of(const SimThread& thread) { return per_[static_cast<size_t>(thread.slot)]; }
  const PerThread& of(const SimThread& thread) const {
    return per_[static_cast<size_t>(thread.slot)];
  }
  static bool settles(const PerThread& t, const Transaction& tx, uint32_t meta) {
    return (meta & t.others_writers) == 0 && (!tx.active() || tx.tracking == Tracking::stores ||
                                              (meta & (t.reader_bit | t.writer_bit)) != 0);
  }
  /// A load's line is in L1, or on its way there for an earlier access of this thread.
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
  /// Before others take their turns, so that the host's own misses overlap with their work.
  void prefetch(const PerThread& t, uint32_t line) { caches_.prefetch(t.core, line); }
  bool owned(const PerThread& t, uint32_t line) {
    const CacheArray::Way* way = caches_.in_l1(t.core, line);
    return way != nullptr && (way->meta & LineBits::kOwned) != 0;
  }
  bool load_asking(SimThread& thread, uint32_t line, CacheArray::Way* way);
  bool acquire_again(SimThread& thread, Entry& entry, uint32_t line, Time now, bool now_or_never);
  void consult(SimThread& thread, uint32_t line);
  void mark(SimThread& thread, uint32_t line, CacheArray::Way& way);
  CoherentCaches::Outcome own(SimThread& thread, uint32_t line, Time now);
  void send_combined(SimThread& thread, Time now);
  void doom_threads(int core, uint32_t smt_mask);

  Time read_memory(uint32_t line, Time now, Level& level) override;
  Time write_memory(uint32_t line, Time now) override;
  void left_l1(int core, uint32_t line, uint32_t readers, uint32_t writers) override;
  void left_llc(uint32_t line, uint64_t l2s) override;
  bool tracked(uint32_t line) override { return htm_.tracked(line); }
  uint32_t leaving(Level from, uint32_t line, uint32_t meta, Time now) override;
  size_t victim(Level level, const CacheArray::Way* set, size_t ways, uint32_t line) override;
  bool persistent(uint32_t line) const;

  const MachineDescription& machine_;
  const SimMedium& medium_;
  Persistence& persistence_;
  HtmUnit& htm_;
  Runner::Threads& threads_;
  CoherentCaches caches_;
  MemoryController dram_;
  MemoryController medium_controller_;
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
  SimThread* actor_ = nullptr;  ///< whose access reaches memory: not always the running thread's
};

}  // namespace holdfast::sim
