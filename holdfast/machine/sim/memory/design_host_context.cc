// SPDX-License-Identifier: Apache-2.0
//
// The part of DesignHost that serves the design's requests (DesignContext).
#include <algorithm>
#include <cstring>

#include "holdfast/machine/sim/memory/design_host.h"
#include "holdfast/machine/sim/memory/physical_lines.h"
#include "holdfast/machine/sim/memory/timed_memory.h"

namespace holdfast {

DesignCounters DesignCounters::operator-(const DesignCounters& before) const {
  DesignCounters since = *this;
  for (uint64_t DesignCounters::* counter :
       {&DesignCounters::transactions, &DesignCounters::aborts, &DesignCounters::doomed,
        &DesignCounters::first_stores, &DesignCounters::stores, &DesignCounters::fills,
        &DesignCounters::dropped, &DesignCounters::written_back, &DesignCounters::writes,
        &DesignCounters::reads, &DesignCounters::cancelled, &DesignCounters::begin_waits,
        &DesignCounters::commit_waits, &DesignCounters::store_waits}) {
    since.*counter -= before.*counter;
  }
  for (size_t i = 0; i < kCauses; ++i) {
    since.by_cause[i] -= before.by_cause[i];
  }
  for (size_t i = 0; i < kReadCauses; ++i) {
    since.reads_by_cause[i] -= before.reads_by_cause[i];
  }
  return since;
}

namespace sim {

int DesignHost::cores() const {
  return timing_.caches().cores();
}

Time DesignHost::cycles(double n) const {
  return timing_.ps(n);
}

uint64_t DesignHost::instructions() const {
  uint64_t sum = 0;
  for (const auto& thread : sim_threads_) {
    sum += thread->stats.instructions;
  }
  return sum;
}

// ---- persistent memory

/// The number of the line for the controller's banks and queues.
uint64_t DesignHost::queue_line(Place place) const {
  return place.space == Space::own ? own_line(place.offset, options_.line_bytes)
                                   : place.offset / options_.line_bytes;
}

void DesignHost::check_place(Place place) const {
  if (place.offset % options_.line_bytes != 0 ||
      (place.space == Space::home && place.offset >= persistence_.bytes())) {
    throw Error(Status(Code::misuse, "the hardware design uses byte " +
                                         std::to_string(place.offset) +
                                         " of the medium as the beginning of a line; the medium "
                                         "has " +
                                         std::to_string(persistence_.bytes()) + " bytes"));
  }
}

DesignWrite DesignHost::write(Place to, const std::byte* bytes, Cause cause, Time now,
                              bool cancelable, bool from_caches) {
  check_place(to);
  accept_until(now);
  counters_.writes += cause == Cause::write_back ? 0 : 1;
  ++counters_.by_cause[static_cast<size_t>(cause)];
  ++timing_.actor().stats.medium_writes;
  WriteOnItsWay write;
  write.to = to;
  write.number = ++last_write_;
  write.cancelable = cancelable;
  write.in_cache =
      from_caches && (caches_survive() ||
                      (wishes_.nonvolatile_llc && timing_.caches().moves_from() == Level::llc));
  std::memcpy(write.bytes.data(), bytes, options_.line_bytes);
  if (!wishes_.address_table) {
    timing_.look_up(queue_line(to), now);
  }
  write.accepted =
      timing_.medium_controller().write(queue_line(to), now, cancelable ? &write.queue : nullptr);
  if (disturbance_ && disturbance_->chance(0.25)) {
    constexpr Time kMostDelay = 300'000;  // the queue may be full of other writes
    write.accepted += disturbance_->below(kMostDelay);
  }
  if (to.space == Space::own && to.offset < wishes_.cached_own_bytes) {
    std::memcpy(newest(first_own_line_ + static_cast<uint32_t>(to.offset / options_.line_bytes)),
                bytes, options_.line_bytes);
  }
  const Time accepted = power_.power_is_gone() ? write.accepted : writes_.add(write);
  return {accepted, {cancelable ? write.number : 0}};
}

Time DesignHost::read(Place from, std::byte* to, ReadCause cause, Time now) {
  check_place(from);
  accept_until(now);
  ++counters_.reads;
  ++counters_.reads_by_cause[static_cast<size_t>(cause)];
  ++timing_.actor().stats.medium_reads;
  if (to != nullptr) {
    writes_.latest(from, to);
  }
  const Time known = wishes_.address_table ? now : timing_.look_up(queue_line(from), now).known;
  return timing_.medium_controller().read(queue_line(from), known);
}

bool DesignHost::cancel(Ticket ticket, Time now) {
  accept_until(now);
  const WriteTicket* queued = writes_.queued(ticket.number);
  if (queued == nullptr || power_.power_is_gone() ||
      !timing_.medium_controller().cancel(*queued, now)) {
    return false;
  }
  met(Hook::cancel);
  ++counters_.cancelled;
  power_.design_persist_event();
  writes_.undo(ticket.number);
  return true;
}

Time DesignHost::read_dram(uint64_t number, Time now) {
  ++timing_.actor().stats.dram_reads;
  return timing_.dram().read(kOwnDramLines + number, now);
}

Time DesignHost::write_dram(uint64_t number, Time now) {
  ++timing_.actor().stats.dram_writes;
  return timing_.dram().write(kOwnDramLines + number, now);
}

// ---- the address table

/// The place of the line's latest content.
Place DesignHost::place_of(const DesignLine& line) const {
  return wishes_.address_table && line.at.space == Space::home ? design_.translate(line.at)
                                                               : line.at;
}

/// Pages of the medium were mapped, with the content of their places. Gives lines that lie
/// elsewhere theirs.
void DesignHost::show_moved(size_t offset, size_t n, std::byte* at) const {
  for (size_t done = 0; done < n; done += options_.line_bytes) {
    const Place home{Space::home, offset + done};
    if (const Place place = design_.translate(home); place != home) {
      LineBytes bytes;
      writes_.latest(place, bytes.data());
      std::memcpy(at + done, bytes.data(), std::min(options_.line_bytes, n - done));
    }
  }
}

TableMapping DesignHost::look_up(Place home, Time now) {
  if (!wishes_.address_table || home.space != Space::home) {
    throw Error(Status(Code::misuse,
                       "the hardware design looks up a mapping, and has no wish to own the address "
                       "table (DesignWishes::address_table), or the line is its own"));
  }
  const AddressTable::Found found = timing_.look_up(queue_line(home), now);
  return {found.slot, found.known};
}

size_t DesignHost::table_victim(std::span<const TableSlot> set) {
  return design_.table_victim(set);
}

Time DesignHost::table_leaves(const TableSlot& slot, Time now) {
  met(Hook::table_leaves);
  return design_.table_leaves(slot, now);
}

TableMiss DesignHost::table_missed(const TableSlot& slot, uint64_t line, Time now) {
  met(Hook::table_missed);
  return design_.table_missed(slot, line, now);
}

// ---- structures

void DesignHost::change(size_t structure, std::span<const EntryChange> changes, Time now) {
  structures_.check(structure, changes);
  accept_until(now);
  if (power_.power_is_gone() || changes.empty()) {
    return;
  }
  power_.design_persist_event();
  ++changed_[structure];
  structures_.change(structure, changes);
  // A change that a planted bug holds back needs bytes of its own.
  std::vector<std::byte> bytes;
  std::vector<size_t> entries;
  const size_t size = structures_.infos()[structure].entry_bytes;
  for (const EntryChange& change : changes) {
    entries.push_back(change.entry);
    bytes.insert(bytes.end(), change.bytes, change.bytes + size);
  }
  faults_.change(DesignChange::structure, structure << 32 | changes.front().entry,
                 [this, structure, size, bytes = std::move(bytes), entries = std::move(entries)] {
                   for (size_t i = 0; i < entries.size(); ++i) {
                     const EntryChange one{entries[i], &bytes[i * size]};
                     structures_.survive(structure, std::span(&one, 1));
                   }
                 });
}

// ---- caches

/// The content or the flags of a cached line are about to change, without a write or a store. That
/// is a persist event if the cache survives.
void DesignHost::cached_line_changes(bool l1_only) {
  if (caches_survive() || (wishes_.nonvolatile_llc && !l1_only)) {
    reaches_last_level();
  }
}

void DesignHost::set_flags(uint32_t line, uint8_t flags) {
  cached_line_changes(false);
  faults_.change(DesignChange::flags, line, [this, line, flags] {
    timing_.caches().set_flags(line, uint32_t{flags} << LineBits::kFlagShift);
  });
}

void DesignHost::set_flags_in_l1(int core, uint32_t line, uint8_t flags) {
  cached_line_changes(true);
  faults_.change(DesignChange::flags, line, [this, core, line, flags] {
    Time now = latest_;
    CacheArray::Way& way = *held_in_l1(core, line, now);
    way.meta = (way.meta & ~LineBits::kFlags) | uint32_t{flags} << LineBits::kFlagShift;
  });
}

uint8_t DesignHost::flags(uint32_t line) {
  return static_cast<uint8_t>(timing_.caches().flags_of(line) >> LineBits::kFlagShift);
}

void DesignHost::drop(uint32_t line, const std::byte* below) {
  const DesignLine at = medium_line(line);
  cached_line_changes(false);
  LineBytes bytes;
  if (!timing_.caches().drop_newest(line, bytes.data())) {
    if (below != nullptr) {
      std::memcpy(bytes.data(), below, options_.line_bytes);
    } else {
      writes_.latest(place_of(at), bytes.data());
    }
  }
  std::memcpy(newest(line), bytes.data(), options_.line_bytes);
  power_.design_changed(line);
}

Time DesignHost::push_down(int core, uint32_t line, Time now) {
  return timing_.caches().push_down(core, line, now);
}

Time DesignHost::write_to_last_level(uint32_t line, Time now) {
  return timing_.caches().write_to_last_level(line, now);
}

/// A line that no cache has dirty may have left the caches, and wait for its acceptance.
Time DesignHost::write_back(uint32_t line, bool evict, Time now) {
  const Time done = timing_.caches().write_back(line, evict, now).done;
  const std::optional<DesignLine> at = on_medium(line);
  return at ? std::max(done, writes_.accepted_at(place_of(*at))) : done;
}

void DesignHost::for_each_cached(FunctionRef<void(const CachedLine&)> f) {
  timing_.caches().for_each_marked(
      [&](Level level, uint32_t line, uint32_t meta, const std::byte*) {
        if (const std::optional<DesignLine> at = on_medium(line)) {
          const bool dirty = (meta & LineBits::kDirty) != 0;
          f({level, *at, dirty, static_cast<uint8_t>(meta >> LineBits::kFlagShift)});
        }
      });
}

void DesignHost::check_cached_own(uint64_t offset, size_t n) const {
  if (offset % options_.line_bytes + n > options_.line_bytes ||
      offset + n > wishes_.cached_own_bytes) {
    throw Error(Status(Code::misuse,
                       "the hardware design reaches beyond a line, or beyond the part of its "
                       "region that caches may hold"));
  }
}

Time DesignHost::store_own(int core, uint64_t offset, std::span<const std::byte> bytes, Time now) {
  check_cached_own(offset, bytes.size());
  const uint64_t in_line = offset % options_.line_bytes;
  const uint32_t line = first_own_line_ + static_cast<uint32_t>(offset / options_.line_bytes);
  CoherentCaches& caches = timing_.caches();
  CacheArray::Way* way = caches.in_l1(core, line);
  Time done = now + caches.l1_time();
  if (way == nullptr || (way->meta & LineBits::kOwned) == 0) {
    done = caches.own(core, line, now).done;
    way = caches.in_l1(core, line);
  }
  if (power_.power_is_gone()) {
    return done;
  }
  power_.design_persist_event();
  if ((way->meta & LineBits::kDirty) == 0) {
    dirties(core, line);
    way = caches.in_l1(core, line);
  }
  way->meta |= LineBits::kDirty;
  std::memcpy(newest(line) + in_line, bytes.data(), bytes.size());
  return done;
}

Time DesignHost::load_own(int core, uint64_t offset, std::span<std::byte> to, Time now) {
  check_cached_own(offset, to.size());
  const uint32_t line = first_own_line_ + static_cast<uint32_t>(offset / options_.line_bytes);
  CoherentCaches& caches = timing_.caches();
  const Time done = caches.in_l1(core, line) != nullptr ? now + caches.l1_time()
                                                        : caches.load(core, line, now).done;
  std::memcpy(to.data(), newest(line) + offset % options_.line_bytes, to.size());
  return done;
}

// ---- transactions

Time DesignHost::rewrite(int core, uint32_t line, const std::byte* bytes, Time now) {
  CoherentCaches& caches = timing_.caches();
  const CoherentCaches::Outcome outcome = caches.own(core, line, now);
  if ((caches.in_l1(core, line)->meta & LineBits::kDirty) == 0) {
    dirties(core, line);
  }
  cached_line_changes(true);
  caches.in_l1(core, line)->meta |= LineBits::kDirty;
  std::memcpy(newest(line), bytes, options_.line_bytes);
  power_.design_changed(line);
  return outcome.done;
}

Time DesignHost::roll_back(const DesignTransaction& tx, Time now) {
  Time done = now;
  for (const Before& before : threads_[static_cast<size_t>(tx.slot)].before) {
    done = std::max(done, rewrite(tx.core, before.line, before.bytes.data(), now));
  }
  return done;
}

}  // namespace sim
}  // namespace holdfast
