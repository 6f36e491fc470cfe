// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/memory/timed_memory.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "holdfast/machine/sim/memory/design_host.h"
#include "holdfast/machine/sim/memory/physical_lines.h"

namespace holdfast::sim {
namespace {

Time nanoseconds(double ns) {
  return static_cast<Time>(std::llround(ns * 1000));
}

/// Page tables: an entry of eight bytes for each page. Only machines with TLBs read them.
size_t table_lines(const MachineDescription& machine, const Arena& arena) {
  const size_t entries = arena.bytes() / kPageBytes;
  return machine.tlb.l1_sets == 0 ? 0 : entries * sizeof(uint64_t) / machine.line_bytes + 1;
}

}  // namespace

TimedMemory::TimedMemory(const MachineDescription& machine, const Arena& arena,
                         const SimMedium& medium, Persistence& persistence, HtmUnit& htm,
                         ThreadRunner::Threads& threads, bool huge_pages, size_t cached_own_lines)
    : machine_(machine),
      medium_(medium),
      persistence_(persistence),
      htm_(htm),
      threads_(threads),
      caches_(machine,
              arena.bytes() / machine.line_bytes + cached_own_lines + table_lines(machine, arena),
              *this, huge_pages),
      dram_(machine.dram, machine.line_bytes),
      medium_controller_(machine.medium, machine.line_bytes),
      per_(threads.size()),
      cycle_ps_(1000 / machine.core.ghz),
      instructions_per_operation_(
          static_cast<uint64_t>(std::llround(machine.core.instructions_per_operation))),
      write_back_(machine.persistence.write_back),
      write_back_cost_(nanoseconds(machine.persistence.write_back_ns)),
      persist_fence_(nanoseconds(machine.persistence.fence_ns)),
      interrupt_period_(nanoseconds(machine.htm.interrupt_us * 1000)),
      line_shift_(std::countr_zero(machine.line_bytes)),
      arena_lines_(static_cast<uint32_t>(arena.bytes() / machine.line_bytes)),
      first_table_line_(arena_lines_ + static_cast<uint32_t>(cached_own_lines)),
      page_shift_(std::countr_zero(kPageBytes / machine.line_bytes)) {
  if (machine.tlb.l1_sets != 0) {
    tlbs_.emplace(machine.tlb, static_cast<size_t>(caches_.cores()));
  }
  if (machine.ait.sets != 0) {
    table_.emplace(machine.ait, machine.line_bytes, ps(machine.ait.hit_cycles), medium_controller_);
  }
  start_run(0);
}

// ---- placement

void TimedMemory::start_run(int workers) {
  slots_of_core_.assign(static_cast<size_t>(caches_.cores()), {});
  const int cores = caches_.service_core();
  Time now = 0;
  for (const auto& thread : threads_) {
    now = std::max(now, thread->clock);
  }
  for (const auto& thread : threads_) {
    thread->clock = now;
  }
  place(kMainSlot, caches_.service_core(), 0, 1);
  place(kBackgroundSlot, caches_.service_core(), 1, 1);
  for (int worker = 0; worker < workers; ++worker) {
    const int core = worker % cores;
    const int sharers = workers / cores + (core < workers % cores ? 1 : 0);
    const int slot = kFirstWorker + worker;
    place(slot, core, worker / cores, sharers);
    if (interrupt_period_ != 0) {
      // Spread evenly, so that the threads are not interrupted at the same time.
      of(*threads_[static_cast<size_t>(slot)]).next_interrupt =
          now + interrupt_period_ * (static_cast<Time>(worker) + 1) / static_cast<Time>(workers);
    }
  }
  const HtmDescription& htm = machine_.htm;
  const double all = std::max(1, machine_.hardware_threads() - 1);
  const double part = std::max(0, workers - 1) / all;
  const double both =
      htm.suspend_resume_ns + (htm.suspend_resume_full_ns - htm.suspend_resume_ns) * part;
  switch_tracking_ = nanoseconds(both / 2);
}

void TimedMemory::place(int slot, int core, int smt, int sharers) {
  PerThread& t = per_[static_cast<size_t>(slot)];
  t = {};
  t.core = core;
  t.smt = smt;
  t.cycle_exact = cycle_ps_ / (sharers > 1 ? machine_.core.smt_speed : 1);
  t.cycle = std::max<Time>(1, static_cast<Time>(std::llround(t.cycle_exact)));
  t.operation = std::max<Time>(
      1, static_cast<Time>(std::llround(t.cycle_exact * machine_.core.cycles_per_operation)));
  t.reader_bit = LineBits::reader(smt);
  t.writer_bit = LineBits::writer(smt);
  t.asking = (LineBits::kWriters & ~t.writer_bit) | asking_flags_;
  t.window.set_limits(static_cast<size_t>(machine_.core.window / sharers),
                      static_cast<size_t>(machine_.core.misses / sharers));
  slots_of_core_[static_cast<size_t>(core)].push_back(slot);
  htm_.set_group(slot, machine_.htm.smt_shares ? core : caches_.cores() + slot,
                 machine_.htm.smt_splits ? sharers : 1);
}

// ---- loads

/// Reports a load to the hardware transactions.
void TimedMemory::consult(SimThread& thread, uint32_t line) {
  const Transaction& tx = *thread.tx;
  if (tx.unwinding) {
    return;
  }
  if (tx.active()) {
    htm_.transactional_load(thread.slot, line);
  } else {
    htm_.plain_load(thread.slot, line);
  }
}

/// Sets the bits of the thread's transaction on the line's way in L1.
void TimedMemory::mark(SimThread& thread, uint32_t line, CacheArray::Way& way) {
  const Transaction& tx = *thread.tx;
  if (tx.open && !tx.doomed()) {
    const PerThread& t = of(thread);
    way.meta |= htm_.reads(thread.slot, line) ? t.reader_bit : 0;
    way.meta |= htm_.owns(thread.slot, line) ? t.writer_bit : 0;
  }
}

/// A load that misses L1, or whose bits there do not rule out a conflict.
bool TimedMemory::load_asking(SimThread& thread, uint32_t line, CacheArray::Way* way) {
  PerThread& t = of(thread);
  consult(thread, line);
  if (way != nullptr) {
    found_in_l1(thread, t, line);
    if ((way->meta & asking_flags_) != 0) {
      t.done = design_->hit(Level::l1, thread.slot, t.core, line, way->meta, false, t.done);
    }
  } else {
    actor_ = &thread;
    const CoherentCaches::Outcome outcome = caches_.load(t.core, line, thread.clock);
    t.level = outcome.level;
    t.done = t.window.miss(line, thread.stats.instructions, thread.clock, outcome.done, true);
  }
  ++thread.stats.load_from[static_cast<size_t>(t.level)];
  way = caches_.in_l1(t.core, line);
  if (way != nullptr) {
    mark(thread, line, *way);
  }
  return thread.tx->open && way != nullptr && (way->meta & t.writer_bit) != 0;
}

// ---- stores

/// Gets the line for writing, and dooms the transactions in conflict.
CoherentCaches::Outcome TimedMemory::own(SimThread& thread, uint32_t line, Time now) {
  PerThread& t = of(thread);
  htm_.request_exclusive(thread.slot, line);
  actor_ = &thread;
  CoherentCaches::Outcome outcome = caches_.own(t.core, line, now);
  if (outcome.level != Level::l1) {
    outcome.done = t.window.miss(line, thread.stats.instructions, now, outcome.done, false);
  }
  ++thread.stats.own_from[static_cast<size_t>(outcome.level)];
  if (CacheArray::Way* way = caches_.in_l1(t.core, line)) {
    mark(thread, line, *way);
  }
  return outcome;
}

Time TimedMemory::enter_write_back(SimThread& thread, uint32_t line) {
  PerThread& t = of(thread);
  const Time ready = translate(thread, line, thread.clock);
  t.last_leave = std::max(ready, t.last_leave + t.cycle);
  return t.last_leave;
}

bool TimedMemory::acquire_again(SimThread& thread, Entry& entry, uint32_t line, Time now,
                                bool now_or_never) {
  PerThread& t = of(thread);
  ++thread.stats.stolen;
  const CoherentCaches::Outcome outcome = own(thread, line, now);
  const Time done = outcome.done;
  // A hardware design may have to give the line up first, which the store must not overtake.
  const bool from_design = design_ != nullptr && outcome.level == Level::medium;
  if (now_or_never || (entry.retried && !from_design)) {
    return true;
  }
  entry.retried = true;
  entry.leave = done;
  t.last_leave = std::max(t.last_leave, done);
  return false;
}

void TimedMemory::left(SimThread& thread, EntryKind kind, uint32_t line) {
  const PerThread& t = of(thread);
  CacheArray::Way* way = caches_.in_l1(t.core, line);
  const uint32_t bits = way == nullptr ? ~uint32_t{0} : way->meta;
  constexpr uint32_t kTransactions = LineBits::kReaders | LineBits::kWriters;
  const uint32_t others = kTransactions & ~(t.reader_bit | t.writer_bit);
  bool ask = way == nullptr || (bits & kTransactions) != 0;
  if (kind == EntryKind::transactional) {
    ask = way == nullptr || (bits & t.writer_bit) == 0 || (bits & others) != 0;
    if (ask) {
      htm_.transactional_store(thread.slot, line);
    }
    if ((bits & t.writer_bit) == 0) {
      caches_.save_below(t.core, line);
    }
  } else if (ask) {
    htm_.plain_store(thread.slot, line);
  }
  if (ask) {
    way = caches_.in_l1(t.core, line);
  }
  if (design_ != nullptr) {
    way = design_gets_store(thread, line, way);
  }
  if (way != nullptr) {
    if (ask) {
      mark(thread, line, *way);
    }
    way->meta |= LineBits::kDirty;
  }
}

/// Tells the design if the store makes the line dirty. A hook may have made it leave L1.
CacheArray::Way* TimedMemory::design_gets_store(SimThread& thread, uint32_t line,
                                                CacheArray::Way* way) {
  const int core = of(thread).core;
  if (way == nullptr || (way->meta & LineBits::kOwned) == 0) {
    own(thread, line, thread.clock);
    way = caches_.in_l1(core, line);
  }
  if ((way->meta & LineBits::kDirty) == 0) {
    design_->dirties(core, line);
  }
  design_->has_line();
  return way;
}

void TimedMemory::atomic(SimThread& thread, uint32_t line) {
  PerThread& t = of(thread);
  Time done = t.window.drain(thread.clock);
  if (machine_.persistence.rmw_orders_pwb) {
    send_combined(thread, done);
    done = std::max(done, t.write_backs_done);
  }
  const Time asked = translate(thread, line, thread.clock);
  done = std::max(done, asked);
  const CacheArray::Way* way = caches_.in_l1(t.core, line);
  if (way == nullptr || (way->meta & LineBits::kOwned) == 0) {
    done = std::max(done, own(thread, line, asked).done);
  }
  thread.clock = done + ps(machine_.core.atomic_cycles);
}

void TimedMemory::work(SimThread& thread, uint64_t cycles) {
  thread.clock +=
      static_cast<Time>(std::llround(static_cast<double>(cycles) * of(thread).cycle_exact));
  thread.stats.instructions += cycles;
}

// ---- persistence

void TimedMemory::pwb(SimThread& thread) {
  operation(thread);
  if (write_back_ == WriteBackKind::delayed) {
    Time& done = of(thread).write_backs_done;
    done = std::max(done, thread.clock) + write_back_cost_;
  } else {
    thread.clock += write_back_cost_;
  }
}

void TimedMemory::write_back(SimThread& thread, uint32_t line, Time now) {
  if (is_emulated(write_back_)) {
    if (design_ != nullptr) {
      design_->write_content(line);
    }
    return;
  }
  const bool evict = write_back_ != WriteBackKind::keep;
  PerThread& t = of(thread);
  actor_ = &thread;
  const Time done = design_ != nullptr ? design_->write_back(line, evict, now)
                                       : caches_.write_back(line, evict, now).done;
  t.write_backs_done = std::max(t.write_backs_done, done);
}

void TimedMemory::fence(SimThread& thread, bool waits_for_write_backs) {
  PerThread& t = of(thread);
  const Time start = thread.clock;
  thread.clock = t.window.drain(thread.clock);
  if (waits_for_write_backs) {
    send_combined(thread, thread.clock);
    thread.clock = std::max(thread.clock, t.write_backs_done);
  }
  thread.stats.stall_fence += thread.clock - start;
}

bool TimedMemory::persistent(uint32_t line) const {
  uint64_t offset;
  if (line >= first_table_line_) {
    return false;
  }
  return line >= arena_lines_ ||
         medium_.find(kArenaBase + (uintptr_t{line} << line_shift_), offset);
}

Time TimedMemory::read_memory(uint32_t line, Time now, Level& level, uint32_t& bits) {
  SimThread& thread = actor();
  if (persistent(line)) {
    level = Level::medium;
    if (design_ != nullptr) {
      return design_->fill(line, of(thread).core, now, bits);
    }
    ++thread.stats.medium_reads;
    return medium_controller_.read(line, look_up(line, now).known);
  }
  level = Level::dram;
  return read_volatile(line, now);
}

/// On a machine with one memory for both, volatile lines need a mapping, too.
Time TimedMemory::read_volatile(uint32_t line, Time now) {
  ++actor().stats.dram_reads;
  return machine_.one_memory ? medium_controller_.read(kVolatileLines + line,
                                                       look_up(kVolatileLines + line, now).known)
                             : dram_.read(line, now);
}

Time TimedMemory::write_volatile(uint32_t line, Time now) {
  ++actor().stats.dram_writes;
  if (!machine_.one_memory) {
    return dram_.write(line, now);
  }
  look_up(kVolatileLines + line, now);
  return medium_controller_.write(kVolatileLines + line, now);
}

AddressTable::Found TimedMemory::look_up_in_table(uint64_t line, Time now) {
  const AddressTable::Found found = table_->look_up(line, now);
  SimCounters& counters = actor().stats;
  ++(found.hit ? counters.table_hits : counters.table_misses);
  counters.table_reads += found.read ? 1 : 0;
  counters.medium_reads += found.read ? 1 : 0;
  return found;
}

Time TimedMemory::write_memory(uint32_t line, uint32_t meta, const std::byte* older, Time now) {
  SimThread& thread = actor();
  if (design_ != nullptr && persistent(line)) {
    return design_->write_memory(line, meta, older, now);
  }
  uint64_t offset = 0;
  if (medium_.find(kArenaBase + (uintptr_t{line} << line_shift_), offset)) {
    persistence_.reached(offset);
    ++thread.stats.medium_writes;
    look_up(line, now);
    return medium_controller_.write(line, now);
  }
  return write_volatile(line, now);
}

// ---- the hardware design

void TimedMemory::attach(DesignHost& design) {
  design_ = &design;
  asking_flags_ = design.hits() ? LineBits::kFlags : 0;
  if (AddressTableClient* client = design.table_client()) {
    if (!table_) {
      throw Error(Status(Code::invalid_argument,
                         "the hardware design needs a machine with an address table, [ait], and " +
                             machine_.name + " has none"));
    }
    table_->attach(*client);
  }
  start_run(0);
}

CacheClient::Left TimedMemory::leaving(Level from, uint32_t line, uint32_t meta,
                                       const std::byte* older, Time now) {
  return design_->leaving(from, line, meta, older, now);
}

size_t TimedMemory::victim(Level level, const CacheArray::Way* set, size_t ways, uint32_t line,
                           uint32_t coming, bool present) {
  return design_->victim(level, set, ways, line, coming, present);
}

bool TimedMemory::keeps(Level at, uint32_t line, uint32_t resident, uint32_t coming) {
  return design_->keeps(at, line, resident, coming);
}

void TimedMemory::touched(int core, uint32_t line, uint32_t flags, bool write, Time now) {
  design_->touched(actor().slot, core, line, flags, write, now);
}

Time TimedMemory::hit(Level level, int core, uint32_t line, uint32_t meta, bool write, Time done) {
  return design_->hit(level, actor().slot, core, line, meta, write, done);
}

void TimedMemory::reaches_last_level() {
  design_->reaches_last_level();
}

// ---- hardware transactions

void TimedMemory::begin(SimThread& thread) {
  thread.clock += ps(machine_.htm.begin_cycles);
  PerThread& t = of(thread);
  while (interrupt_period_ != 0 && t.next_interrupt <= thread.clock) {
    t.next_interrupt += interrupt_period_;
  }
}

void TimedMemory::released(int slot, const Transaction& tx, bool aborted) {
  const PerThread& t = per_[static_cast<size_t>(slot)];
  for (const uint32_t line : tx.read_lines) {
    caches_.clear_bits(t.core, line, t.reader_bit);
  }
  for (const uint32_t line : tx.written_lines) {
    caches_.clear_bits(t.core, line, t.reader_bit | t.writer_bit);
    if (aborted) {
      caches_.drop_l1(t.core, line);
    }
  }
}

void TimedMemory::doom_threads(int core, uint32_t smt_mask) {
  for (const int slot : slots_of_core_[static_cast<size_t>(core)]) {
    if ((smt_mask >> per_[static_cast<size_t>(slot)].smt & 1) != 0) {
      htm_.doom(slot, AbortCause::capacity);
    }
  }
}

void TimedMemory::left_l1(int core, uint32_t, uint32_t readers, uint32_t writers) {
  if (machine_.htm.loads == HtmTracking::l1) {
    doom_threads(core, readers);
  }
  if (machine_.htm.stores == HtmTracking::l1) {
    doom_threads(core, writers);
  }
}

void TimedMemory::left_llc(uint32_t line, uint64_t l2s) {
  if (htm_.tracked(line)) {
    const auto above = [&](int slot) {
      return (l2s >> caches_.l2_of(per_[static_cast<size_t>(slot)].core) & 1) != 0;
    };
    htm_.lost(line, machine_.htm.loads == HtmTracking::llc, machine_.htm.stores == HtmTracking::llc,
              above);
  }
}

}  // namespace holdfast::sim
