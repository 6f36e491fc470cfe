// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/tc/transaction_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast {

void TransactionCache::attach(DesignContext& context) {
  HardwareDesign::attach(context);
  capacity_ = std::max<size_t>(1, options_.bytes / context.line_bytes());
  read_time_ = context.cycles(options_.read_cycles);
  write_time_ = context.cycles(options_.write_cycles);
  cores_.resize(static_cast<size_t>(context.cores()));
  for (size_t core = 0; core < cores_.size(); ++core) {
    for (size_t i = capacity_; i > 0; --i) {
      cores_[core].free.push_back(core * capacity_ + i - 1);
    }
  }
  const size_t slots = structures(context.machine())[kRegisters].entries;
  registers_.resize(slots);
  log_tail_.resize(slots);
  descriptions_.resize(slots);
  for (Descriptions& descriptions : descriptions_) {
    descriptions.bytes.resize(context.line_bytes());
  }
}

std::span<const char* const> TransactionCache::transitions() const {
  static constexpr const char* kNames[] = {
      "an entry was spilled", "an entry was drained", "a log record was drained",
      "a store outside transactions was merged", "a log became empty"};
  return kNames;
}

// ---- stores

Time TransactionCache::put(const DesignStore& store, Time now) {
  Core& core = of(store.tx);
  Entry* entry = active(core, store.tx.id, store.line.line);
  if (entry != nullptr && !entry->logged) {
    merge(*entry, store, now);
    save(*entry, now);
    if ((store.flags & kHeld) == 0) {  // the line has left the caches and come back
      context().set_flags(store.line.line, kHeld);
    }
    ++merges_;
    return now;
  }
  if (core.free.empty()) {
    const Time ready = make_room(core, now);
    if (ready > now) {
      return ready;
    }
    entry = active(core, store.tx.id, store.line.line);
  }
  if (entry != nullptr) {  // the copy in the log is older, so it is dropped
    erase(core,
          std::find_if(core.fifo.begin(), core.fifo.end(),
                       [&](const Entry& e) { return e.number == entry->number; }),
          now);
  }
  add(core, store, now);
  return now;
}

void TransactionCache::add(Core& core, const DesignStore& store, Time now) {
  ++puts_;
  core.fifo.push_back({.line = store.line,
                       .tx = store.tx.id,
                       .slot = static_cast<size_t>(store.tx.slot),
                       .number = ++last_number_,
                       .place = core.free.back(),
                       .bytes = {store.before, store.before + context().line_bytes()}});
  core.free.pop_back();
  ++present_[store.line.line];
  merge(core.fifo.back(), store, now);
  save(core.fifo.back(), now);
  context().set_flags(store.line.line, kHeld);
}

void TransactionCache::merge(Entry& entry, const DesignStore& store, Time now) {
  uint64_t word;
  std::memcpy(&word, entry.bytes.data() + store.word, sizeof(word));
  word = (word & ~store.mask) | store.value;
  std::memcpy(entry.bytes.data() + store.word, &word, sizeof(word));
  entry.written = now + write_time_;
  entry.spilled = 0;
}

/// The transaction's active entry of this line, or null.
TransactionCache::Entry* TransactionCache::active(Core& core, uint64_t tx, uint32_t line) {
  if (!present_.contains(line)) {
    return nullptr;
  }
  for (auto entry = core.fifo.rbegin(); entry != core.fifo.rend(); ++entry) {
    if (entry->tx == tx && entry->line.line == line && !entry->committed) {
      return &*entry;
    }
  }
  return nullptr;
}

/// All entries of the TC are in use. Returns `now` if it has freed one, else the time at which to
/// ask again.
Time TransactionCache::make_room(Core& core, Time now) {
  // The oldest go to the log, so those in the log are in front of all others.
  const auto oldest = std::partition_point(core.fifo.begin(), core.fifo.end(),
                                           [](const Entry& e) { return e.logged; });
  if (!oldest->committed) {
    return spill(core, *oldest, now);
  }
  // The oldest entry is draining, or it waits for an entry of another TC that is draining.
  return (core.draining ? &core : next_to_finish())->accepted;
}

/// Moves an active entry to the log. Returns `now` when that is done, else the time at which to ask
/// again.
Time TransactionCache::spill(Core& core, Entry& entry, Time now) {
  if (entry.spilled == 0) {
    const Time start = std::max(now, entry.written) + read_time_;
    if (!entry.has_record) {  // else a store has interrupted an earlier spill
      describe(entry, start);
    }
    const Place record = record_place(entry.slot, entry.record, context().line_bytes());
    entry.spilled = context().write(record, entry.bytes.data(), Cause::log, start).accepted;
  }
  if (entry.spilled > now) {
    return entry.spilled;
  }
  give_up_entry(core, entry, now);
  entry.logged = true;
  ++spills_;
  context().passed(kSpilled);
  return now;
}

/// Takes the next record of the thread's log for the entry. Nothing relies on its description
/// before the transaction commits.
void TransactionCache::describe(Entry& entry, Time now) {
  Descriptions& descriptions = descriptions_[entry.slot];
  entry.record = log_tail_[entry.slot]++;
  entry.has_record = true;
  const SavedRecord saved{entry.line.at.offset, entry.number};
  const size_t records = context().line_bytes() / sizeof(saved);
  const size_t index = entry.record % records;
  std::memcpy(&descriptions.bytes[index * sizeof(saved)], &saved, sizeof(saved));
  descriptions.written = false;
  if (index + 1 == records) {
    write_descriptions(entry.slot, entry.record, now);
  }
}

/// Writes the line with the record's description, if the log does not have it.
void TransactionCache::write_descriptions(size_t slot, uint64_t record, Time now) {
  Descriptions& descriptions = descriptions_[slot];
  if (!std::exchange(descriptions.written, true)) {
    const Place to = description_place(slot, record, context().line_bytes());
    const DesignWrite write = context().write(to, descriptions.bytes.data(), Cause::table, now);
    descriptions.accepted = std::max(descriptions.accepted, write.accepted);
  }
}

void TransactionCache::give_up_entry(Core& core, Entry& entry, Time now) {
  const std::vector<std::byte> unused(sizeof(SavedEntry) + context().line_bytes());
  context().change(kEntries, entry.place, unused.data(), now);
  core.free.push_back(entry.place);
}

void TransactionCache::erase(Core& core, const std::deque<Entry>::iterator& entry, Time now) {
  if (!entry->logged) {
    give_up_entry(core, *entry, now);
  }
  if (const auto count = present_.find(entry->line.line); --count->second == 0) {
    present_.erase(count);
  }
  core.fifo.erase(entry);
}

// ---- commit and abort

Time TransactionCache::commit(const DesignTransaction& tx, Time now) {
  Core& core = of(tx);
  const auto slot = static_cast<size_t>(tx.slot);
  if (log_tail_[slot] > 0) {
    write_descriptions(slot, log_tail_[slot] - 1, now);
  }
  Time written = std::max(now, descriptions_[slot].accepted);
  for (const Entry& entry : core.fifo) {
    if (entry.tx == tx.id) {
      written = std::max({written, entry.written, entry.spilled});
    }
  }
  if (written > now) {
    return written;
  }
  registers_[slot].committed = tx.id;
  registers_[slot].log_end = log_tail_[slot];
  set_register(slot, now);
  for (Entry& entry : core.fifo) {
    entry.committed |= entry.tx == tx.id;
  }
  start_drain(core, now);
  return now;
}

Time TransactionCache::abort(const DesignTransaction& tx, Time now) {
  Core& core = of(tx);
  std::vector<DesignLine> lines;
  for (auto entry = core.fifo.begin(); entry != core.fifo.end();) {
    if (entry->tx == tx.id) {
      lines.push_back(entry->line);
      const auto index = entry - core.fifo.begin();
      erase(core, entry, now);
      entry = core.fifo.begin() + index;
    } else {
      ++entry;
    }
  }
  now = shorten_tail(static_cast<size_t>(tx.slot), now);
  for (const DesignLine& line : lines) {
    const Entry* committed = newest(line.line);
    context().drop(line.line, committed == nullptr ? nullptr : committed->bytes.data());
  }
  return now;
}

/// Gives up the records of the running transaction. The descriptions of older ones come back, since
/// the next record's may share their line.
Time TransactionCache::shorten_tail(size_t slot, Time now) {
  const uint64_t end = registers_[slot].log_end;
  if (log_tail_[slot] == end) {
    return now;
  }
  log_tail_[slot] = end;
  Descriptions& descriptions = descriptions_[slot];
  descriptions.written = true;
  if (end > 0) {
    const Place line = description_place(slot, end - 1, context().line_bytes());
    now = context().read(line, descriptions.bytes.data(), ReadCause::log, now);
  }
  return now;
}

// ---- caches and memory

/// The newest entry of this line in any TC or log, or null.
TransactionCache::Entry* TransactionCache::newest(uint32_t line) {
  if (!present_.contains(line)) {
    return nullptr;
  }
  Entry* found = nullptr;
  for (Core& core : cores_) {
    for (Entry& entry : core.fifo) {
      if (entry.line.line == line && (found == nullptr || entry.number > found->number)) {
        found = &entry;
      }
    }
  }
  return found;
}

uint8_t TransactionCache::outside_store(DesignLine, uint8_t flags) {
  return flags & static_cast<uint8_t>(~kHeld);
}

DesignFill TransactionCache::fill(DesignLine line, int, Time now) {
  const Time probed = now + read_time_;
  const Entry* entry = newest(line.line);
  if (entry == nullptr) {
    return {.start = options_.probe_first ? probed : now};
  }
  Time done = probed;
  if (entry->logged) {
    const size_t bytes = context().line_bytes();
    done = context().read(record_place(entry->slot, entry->record, bytes), nullptr, ReadCause::data,
                          probed);
  }
  return {.supplied = true, .done = done, .bytes = entry->bytes.data()};
}

Leaving TransactionCache::leaving(const LineMove& move, Time now) {
  if (move.from != Level::llc) {
    return {move.dirty, move.flags, now};
  }
  return {move.dirty && (move.flags & kHeld) == 0, 0, now};
}

/// A line was stored to outside transactions. Its newest entry gets its bytes. If that entry is on
/// its way home with older bytes, the line follows it.
MemoryWrite TransactionCache::memory_write(const LineMove& move, Time now) {
  Entry* entry = newest(move.line.line);
  if (entry == nullptr) {
    return {true, now};
  }
  entry->bytes.assign(move.bytes, move.bytes + context().line_bytes());
  context().passed(kMergedOutside);
  Time done = now;
  if (entry->logged) {
    const Place record = record_place(entry->slot, entry->record, context().line_bytes());
    done = context().write(record, entry->bytes.data(), Cause::log, now).accepted;
    entry->fetched = 0;  // the bytes that were read are old
  } else {
    save(*entry, now);
  }
  const bool on_its_way = std::any_of(cores_.begin(), cores_.end(), [&](const Core& core) {
    return core.draining && core.drains == entry->number;
  });
  return {on_its_way, done};
}

// ---- drains: from the TC to PM

/// True if another entry has older committed bytes of the line, which must drain first.
bool TransactionCache::older_elsewhere(const Entry& entry) const {
  if (present_.at(entry.line.line) == 1) {
    return false;
  }
  for (const Core& core : cores_) {
    for (const Entry& other : core.fifo) {
      if (other.line.line == entry.line.line && other.committed && other.number < entry.number) {
        return true;
      }
    }
  }
  return false;
}

void TransactionCache::start_drains(Time now) {
  for (Core& core : cores_) {
    start_drain(core, now);
  }
}

void TransactionCache::start_drain(Core& core, Time now) {
  if (core.draining) {
    return;
  }
  const auto entry =
      std::find_if(core.fifo.begin(), core.fifo.end(), [](const Entry& e) { return e.committed; });
  if (entry == core.fifo.end() || older_elsewhere(*entry)) {
    return;
  }
  Time read = now + read_time_;
  if (entry->logged) {
    fetch_ahead(core, entry, now);
    read = std::max(now, entry->fetched);
  }
  core.draining = true;
  core.drains = entry->number;
  core.accepted = context().write(entry->line.at, entry->bytes.data(), Cause::data, read).accepted;
  context().wake_at(core.accepted);
}

/// Reads the next committed records of the log, as many as the controller's read queue holds. They
/// are drained in this order, so no drain but the first waits for the whole latency of a read.
void TransactionCache::fetch_ahead(Core& core, std::deque<Entry>::iterator first, Time now) {
  int room = context().machine().medium.read_queue;
  for (auto entry = first; entry != core.fifo.end() && entry->logged && room > 0; ++entry) {
    if (!entry->committed) {
      continue;
    }
    --room;
    if (entry->fetched == 0) {
      const Place record = record_place(entry->slot, entry->record, context().line_bytes());
      entry->fetched = context().read(record, entry->bytes.data(), ReadCause::migration, now);
    }
  }
}

void TransactionCache::finish_drain(Core& core) {
  const auto entry = std::find_if(core.fifo.begin(), core.fifo.end(),
                                  [&](const Entry& e) { return e.number == core.drains; });
  context().passed(entry->logged ? kDrainedFromLog : kDrained);
  shorten_log(*entry, core.accepted);
  erase(core, entry, core.accepted);
  core.draining = false;
  ++drained_;
  start_drains(core.accepted);
}

/// An entry is home. Its thread's log now begins with the oldest record that is not. This comes
/// before the entry is given up: the log may have an older record of its line.
void TransactionCache::shorten_log(const Entry& home, Time now) {
  const size_t slot = home.slot;
  Register& own = registers_[slot];
  if (own.log_begin == own.log_end) {
    return;
  }
  uint64_t begin = own.log_end;
  for (const Core& core : cores_) {
    for (const Entry& entry : core.fifo) {
      if (&entry != &home && entry.slot == slot && entry.logged && entry.committed) {
        begin = std::min(begin, entry.record);
      }
    }
  }
  if (begin == own.log_begin) {
    return;
  }
  own.log_begin = begin;
  if (begin == own.log_end && log_tail_[slot] == own.log_end) {  // else a transaction goes on there
    own.log_begin = own.log_end = log_tail_[slot] = 0;
    context().passed(kLogEmptied);
  }
  set_register(slot, now);
}

/// The TC whose drain finishes first, or null.
TransactionCache::Core* TransactionCache::next_to_finish() {
  Core* next = nullptr;
  for (Core& core : cores_) {
    if (core.draining && (next == nullptr || core.accepted < next->accepted)) {
      next = &core;
    }
  }
  return next;
}

void TransactionCache::tick(Time now) {
  Core* core = next_to_finish();
  for (; core != nullptr && core->accepted <= now; core = next_to_finish()) {
    finish_drain(*core);
  }
  if (core != nullptr) {
    context().wake_at(core->accepted);
  }
}

Time TransactionCache::settle(Time now) {
  while (const Core* core = next_to_finish()) {
    now = std::max(now, core->accepted);
    tick(now);
  }
  return now;
}

std::vector<std::pair<const char*, uint64_t>> TransactionCache::counters() const {
  return {{"puts", puts_}, {"merges", merges_}, {"spills", spills_}, {"drained", drained_}};
}

}  // namespace holdfast
