// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/memory/design_host.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "holdfast/machine/sim/memory/timed_memory.h"

namespace holdfast::sim {
namespace {

[[noreturn]] void design_misuse(const char* what) {
  throw Error(Status(Code::misuse, what));
}

uint8_t flags_in(uint32_t meta) {
  return static_cast<uint8_t>(meta >> LineBits::kFlagShift);
}

bool dirty_in(uint32_t meta) {
  return (meta & LineBits::kDirty) != 0;
}

/// Sets a flag during its lifetime.
class During {
 public:
  explicit During(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
  ~During() { flag_ = before_; }
  During(const During&) = delete;
  During& operator=(const During&) = delete;

 private:
  bool& flag_;
  bool before_;
};

}  // namespace

DesignHost::DesignHost(HardwareDesign& design, const HardwareDesign& witness,
                       const SimOptions& options, TimedMemory& timing, SimMedium& medium,
                       Persistence& persistence, ThreadRunner::Threads& threads, DesignPower& power)
    : design_(design),
      witness_(witness),
      options_(options),
      wishes_(design.wishes()),
      timing_(timing),
      medium_(medium),
      persistence_(persistence),
      sim_threads_(threads),
      power_(power),
      first_own_line_(timing.arena_lines()),
      writes_(persistence, options.line_bytes, timing.medium_controller()),
      structures_(design.structures(*options.machine)),
      faults_(options.design_fault),
      own_newest_(std::max<size_t>(1, cached_own_lines(design, options.line_bytes)) *
                  options.line_bytes),
      threads_(threads.size()),
      open_on_core_(static_cast<size_t>(timing.caches().cores()), 0),
      changed_(structures_.infos().size()),
      passed_(design.transitions().size()) {
  for (size_t slot = 0; slot < threads_.size(); ++slot) {
    threads_[slot].tx.slot = static_cast<int>(slot);
  }
  if (options.disturb != 0) {
    disturbance_.emplace(options.disturb);
  }
  due_instructions_ = wishes_.tick_instructions != 0 ? wishes_.tick_instructions : ~uint64_t{0};
  timing_.caches().attach_design({.victims = wishes_.victims,
                                  .versions = wishes_.versions,
                                  .hits = wishes_.hits,
                                  .touches = wishes_.touches,
                                  .flags_move_up = wishes_.flags_move_up,
                                  .nonvolatile_llc = wishes_.nonvolatile_llc});
  if (wishes_.address_table) {
    medium.after_map([this](size_t offset, size_t n, std::byte* at) { show_moved(offset, n, at); });
  }
  design_.attach(*this);
}

uint32_t DesignHost::line_of(uintptr_t address) const {
  return static_cast<uint32_t>((address - kArenaBase) / options_.line_bytes);
}

std::optional<DesignLine> DesignHost::on_medium(uint32_t line) const {
  if (is_own(line)) {
    return DesignLine{line, {Space::own, uint64_t{line - first_own_line_} * options_.line_bytes}};
  }
  uint64_t offset;
  if (!medium_.find(kArenaBase + uintptr_t{line} * options_.line_bytes, offset)) {
    return std::nullopt;
  }
  return DesignLine{line, {Space::home, offset}};
}

DesignLine DesignHost::medium_line(uint32_t line) const {
  const std::optional<DesignLine> at = on_medium(line);
  if (!at) {
    design_misuse("the hardware design was asked for a line that does not lie on the medium");
  }
  return *at;
}

std::byte* DesignHost::newest(uint32_t line) const {
  if (is_own(line)) {
    return const_cast<std::byte*>(own_newest_.data()) +
           uint64_t{line - first_own_line_} * options_.line_bytes;
  }
  return reinterpret_cast<std::byte*>(kArenaBase + uintptr_t{line} * options_.line_bytes);
}

// ---- transactions

void DesignHost::issue_begin(const SimThread& thread) {
  PerThread& t = of(thread);
  if (t.issued) {
    design_misuse("tx_start inside a transaction of the hardware design; transactions do not nest");
  }
  t.issued = true;
}

void DesignHost::issue_end(const SimThread& thread) {
  PerThread& t = of(thread);
  if (!t.issued) {
    design_misuse("tx_commit or tx_abort without tx_start");
  }
  t.issued = false;
}

Time DesignHost::admit_marker(const SimThread& thread, EntryKind kind, Time now) {
  PerThread& t = of(thread);
  if (kind == EntryKind::tx_begin) {
    pump(now);
    if (t.asked_since == 0) {
      t.tx.id = ++last_id_;
      t.tx.core = timing_.core(thread.slot);
    }
    met(Hook::begin);
    const Time ready = design_.begin(t.tx, now);
    if (waited(t, ready, now, counters_.begin_waits) > now) {
      return ready;
    }
    t.open = true;
    ++open_on_core_[static_cast<size_t>(t.tx.core)];
  } else if (kind == EntryKind::tx_commit) {
    pump(now);
    disturb(now);
    if (!t.open) {
      return now;  // the design has aborted it because of a line that has left
    }
    met(Hook::commit);
    const Time ready = design_.commit(t.tx, now);
    if (!t.open || waited(t, ready, now, counters_.commit_waits) > now) {
      return ready;  // the design has aborted the transaction, or the commit waits
    }
    ++counters_.transactions;
    close(t);
  }
  return now;
}

Time DesignHost::abort(const SimThread& thread, Time now) {
  PerThread& t = of(thread);
  if (!t.open) {
    return now;  // the design has aborted it before
  }
  pump(now);
  met(Hook::abort);
  const Time done = guarded(now, [&] { return design_.abort(t.tx, now); });
  ++counters_.aborts;
  close(t);
  return done;
}

void DesignHost::doom(int slot, AbortCause cause, Time now) {
  PerThread& t = threads_[static_cast<size_t>(slot)];
  SimThread& thread = *sim_threads_[static_cast<size_t>(slot)];
  if (!wishes_.dooms) {
    design_misuse(
        "the hardware design dooms a transaction and has no wish to (DesignWishes::dooms)");
  }
  if (!t.open || thread.doomed != AbortCause::none) {
    return;
  }
  met(Hook::doom);
  thread.doomed = cause;
  design_.abort(t.tx, now);
  ++counters_.aborts;
  ++counters_.doomed;
  t.asked_since = 0;
  close(t);
  power_.design_doomed(slot);
}

AbortCause DesignHost::caught(SimThread& thread) {
  of(thread).issued = false;
  return std::exchange(thread.doomed, AbortCause::none);
}

void DesignHost::close(PerThread& t) {
  for (const Before& before : t.before) {
    timing_.caches().clear_bits(t.tx.core, before.line, LineBits::kDesign);
  }
  t.before.clear();
  t.known.clear();
  t.open = false;
  --open_on_core_[static_cast<size_t>(t.tx.core)];
}

/// Adds the time that an entry has waited to `counter`. Returns `ready`.
Time DesignHost::waited(PerThread& t, Time ready, Time now, Time& counter) {
  if (ready > now) {
    t.asked_since = t.asked_since == 0 ? now : t.asked_since;
  } else if (t.asked_since != 0) {
    counter += now - t.asked_since;
    t.asked_since = 0;
  }
  return ready;
}

// ---- stores

Time DesignHost::admit_store(const SimThread& thread, const MaskedWord& word, Time now) {
  PerThread& t = of(thread);
  const uint32_t line = line_of(word.address);
  const int core = timing_.core(thread.slot);
  CacheArray::Way* way = timing_.caches().in_l1(core, line);
  // The bit means that a transaction of the core has stored to the line. If the core has two, it
  // does not tell which.
  const bool known = way != nullptr && (way->meta & LineBits::kDesign) != 0 &&
                     open_on_core_[static_cast<size_t>(core)] == 1;
  if (t.open && known && !wishes_.every_store) {
    return now;
  }
  if (!t.open && (way == nullptr || (way->meta & LineBits::kFlags) == 0)) {
    return now;
  }
  const std::optional<DesignLine> at = on_medium(line);
  if (!at) {
    return now;
  }
  if (!t.open) {
    met(Hook::outside_store);
    set_flags(line, design_.outside_store(*at, flags(line)));
    return now;
  }
  pump(now);
  disturb(now);
  // The line may have left the cache, so look it up again.
  Time held = now;
  const CacheArray::Way& found = *held_in_l1(core, line, held);
  if (!t.open) {
    return now;  // the design has aborted it because of a line that has left
  }
  return held > now ? held : transactional_store(t, found, *at, word, now);
}

/// The line's way in the core's L1, with the right to store. `now` becomes the time at which the
/// core has the line.
CacheArray::Way* DesignHost::held_in_l1(int core, uint32_t line, Time& now) {
  CoherentCaches& caches = timing_.caches();
  CacheArray::Way* way = caches.in_l1(core, line);
  if (way == nullptr || (way->meta & LineBits::kOwned) == 0) {
    now = std::max(now, caches.own(core, line, now).done);
    way = caches.in_l1(core, line);
  }
  return way;
}

Time DesignHost::transactional_store(PerThread& t, const CacheArray::Way& way, DesignLine line,
                                     const MaskedWord& word, Time now) {
  const bool first = !t.known.contains(line.line);
  const size_t in_line = (word.address - kArenaBase) % options_.line_bytes;
  const uint32_t meta = way.meta;
  const DesignStore store{t.tx,           line,          in_line,
                          word.value,     word.mask,     newest(line.line),
                          dirty_in(meta), flags_in(meta)};
  Time ready = now;
  if (first) {
    met(Hook::first_store);
    ready = design_.first_store(store, now);
  } else if (wishes_.every_store) {
    met(Hook::store);
    ready = design_.store(store, now);
  }
  if (!t.open) {
    return now;  // the design has aborted the transaction
  }
  if (waited(t, ready, now, counters_.store_waits) > now) {
    return ready;
  }
  admitted_ = word;
  counters_.first_stores += first ? 1 : 0;
  counters_.stores += !first && wishes_.every_store ? 1 : 0;
  if (first) {
    remember(t, line.line);
  }
  if (CacheArray::Way* mine = timing_.caches().in_l1(t.tx.core, line.line)) {
    mine->meta |= LineBits::kDesign;
  }
  return now;
}

void DesignHost::remember(PerThread& t, uint32_t line) {
  t.known.emplace(line, t.before.size());
  t.before.emplace_back();
  t.before.back().line = line;
  std::memcpy(t.before.back().bytes.data(), newest(line), options_.line_bytes);
  recent_[next_recent_++ % recent_.size()] = line;
}

void DesignHost::loaded(const SimThread& thread, uint32_t line, Time now) {
  const PerThread& t = of(thread);
  if (!t.open) {
    return;
  }
  if (const std::optional<DesignLine> at = on_medium(line)) {
    met(Hook::loaded);
    design_.loaded(t.tx, *at, now);
  }
}

void DesignHost::dirties(int core, uint32_t line) {
  if (wishes_.versions && on_medium(line)) {
    timing_.caches().supersede(core, line, newest(line));
  }
}

// ---- caches and memory

Time DesignHost::fill(uint32_t line, int core, Time now, uint32_t& bits) {
  pump(now);
  const DesignLine at = medium_line(line);
  met(Hook::fill);
  const DesignFill fill =
      guarded(DesignFill{.start = now}, [&] { return design_.fill(at, core, now); });
  bits |= (fill.dirty ? LineBits::kDirty : 0) | uint32_t{fill.flags} << LineBits::kFlagShift;
  if (fill.supplied) {
    ++counters_.fills;
    check_fill(at, fill.bytes);
    return fill.done;
  }
  const Time known = timing_.look_up(queue_line(at.at), fill.start).known;
  const Place from = place_of(at);
  LineBytes bytes;
  writes_.latest(from, bytes.data());
  check_fill(at, bytes.data());
  ++timing_.actor().stats.medium_reads;
  ++counters_.reads_by_cause[static_cast<size_t>(ReadCause::miss)];
  return timing_.medium_controller().read(queue_line(from), known);
}

Time DesignHost::write_memory(uint32_t line, uint32_t meta, const std::byte* older, Time now) {
  pump(now);
  const During hook(in_caches_);
  const DesignLine at = medium_line(line);
  const std::byte* bytes = older != nullptr ? older : newest(line);
  met(Hook::memory_write);
  const MemoryWrite answer = guarded(MemoryWrite{true, now}, [&] {
    return design_.memory_write({Level::llc, at, true, flags_in(meta), bytes}, now);
  });
  if (!answer.write) {
    ++counters_.dropped;
    return std::max(now, answer.done);
  }
  ++counters_.written_back;
  return write(place_of(at), bytes, Cause::write_back, now, false, true).accepted;
}

void DesignHost::write_content(uint32_t line) {
  const std::optional<DesignLine> at = on_medium(line);
  if (at && !power_.power_is_gone() &&
      design_.memory_write({Level::llc, *at, true, 0, newest(line)}, latest_).write) {
    power_.design_persist_event();
    writes_.put(place_of(*at), newest(line), options_.line_bytes);
  }
}

CacheClient::Left DesignHost::leaving(Level from, uint32_t line, uint32_t meta,
                                      const std::byte* older, Time now) {
  const std::optional<DesignLine> at = on_medium(line);
  if (!at) {
    return {meta & ~LineBits::kFlags, now};
  }
  const During hook(in_caches_);
  const bool was_dirty = dirty_in(meta);
  met(from == Level::l1   ? Hook::leaving_l1
      : from == Level::l2 ? Hook::leaving_l2
                          : Hook::leaving_llc);
  const Leaving left = guarded(Leaving{was_dirty, 0, now}, [&] {
    return design_.leaving(
        {from, *at, was_dirty, flags_in(meta), older != nullptr ? older : newest(line)}, now);
  });
  counters_.dropped += was_dirty && !left.dirty ? 1 : 0;
  const uint32_t others = meta & ~(LineBits::kDirty | LineBits::kFlags);
  return {
      others | (left.dirty ? LineBits::kDirty : 0) | uint32_t{left.flags} << LineBits::kFlagShift,
      std::max(now, left.done)};
}

size_t DesignHost::victim(Level level, const CacheArray::Way* set, size_t ways, uint32_t line,
                          uint32_t coming, bool present) {
  met(Hook::victim);
  const size_t way =
      design_.victim({level, set, ways, line, dirty_in(coming), flags_in(coming), present});
  if (way >= ways && !present && level != Level::llc) {
    design_misuse("the hardware design gives a line no way in a cache other than the last level");
  }
  return way;
}

bool DesignHost::keeps(Level at, uint32_t line, uint32_t resident, uint32_t coming) {
  const std::optional<DesignLine> place = on_medium(line);
  met(Hook::keeps);
  return place &&
         design_.keeps({at, *place, dirty_in(resident), flags_in(resident)}, flags_in(coming));
}

void DesignHost::touched(int slot, int core, uint32_t line, uint32_t flags, bool write, Time now) {
  if (const std::optional<DesignLine> at = on_medium(line)) {
    met(Hook::touched);
    design_.touched({*at, flags_in(flags), core, slot, write}, now);
  }
}

Time DesignHost::hit(Level level, int slot, int core, uint32_t line, uint32_t meta, bool write,
                     Time done) {
  const std::optional<DesignLine> at = on_medium(line);
  if (!at) {
    return done;
  }
  met(Hook::hit);
  return std::max(done, design_.hit(level, {*at, flags_in(meta), core, slot, write}, done));
}

void DesignHost::reaches_last_level() {
  if (!power_.power_is_gone()) {
    power_.design_persist_event();
  }
}

// ---- time

void DesignHost::pump(Time now) {
  latest_ = std::max(latest_, now);
  if (pumping_ || accepting_ || power_.power_is_gone()) {
    return;
  }
  const During pumping(pumping_);
  for (;;) {
    const Time accepted = writes_.next();
    const Time due = in_caches_ ? ~Time{0} : due_;  // no tick while a line leaves a cache
    if (std::min(accepted, due) > now) {
      break;
    }
    if (accepted <= due) {
      accept_write();
    } else {
      tick(std::exchange(due_, ~Time{0}));
    }
  }
  if (due_instructions_ != ~uint64_t{0} && !in_caches_ && instructions() >= due_instructions_) {
    due_instructions_ += wishes_.tick_instructions;
    tick(now);
  }
}

void DesignHost::tick(Time now) {
  met(Hook::tick);
  guarded(now, [&] {
    design_.tick(now);
    return now;
  });
}

/// The controller accepts what it can until `now`. For requests of the design: none of its hooks is
/// called meanwhile.
void DesignHost::accept_until(Time now) {
  latest_ = pumping_ ? latest_ : std::max(latest_, now);
  while (!accepting_ && !power_.power_is_gone() && writes_.next() <= now) {
    accept_write();
  }
}

/// The controller accepts the oldest write on its way.
void DesignHost::accept_write() {
  const During accepting(accepting_);
  power_.design_persist_event();
  const WriteOnItsWay write = writes_.take_front();
  const bool own = write.to.space == Space::own;
  met(own ? Hook::own_write : Hook::home_write);
  faults_.change(own ? DesignChange::own_write : DesignChange::home_write, write.to.offset,
                 [this, write] { writes_.apply(write); });
}

}  // namespace holdfast::sim
