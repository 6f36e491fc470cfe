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
}

// ---- stores

Time TransactionCache::put(const DesignStore& store, Time now) {
  Core& core = of(store.tx);
  Entry* entry = active(core, store.tx.id, store.at.line);
  if (entry != nullptr && !entry->logged) {
    merge(*entry, store, now);
    ++merges_;
    return now;
  }
  if (core.used == capacity_) {
    const Time ready = make_room(core, now);
    if (ready > now) {
      return ready;
    }
    entry = active(core, store.tx.id, store.at.line);
  }
  if (entry != nullptr) {  // the copy in the log is older, so it is dropped
    erase(core, std::find_if(core.fifo.begin(), core.fifo.end(),
                             [&](const Entry& e) { return e.number == entry->number; }));
  }
  add(core, store, now);
  return now;
}

void TransactionCache::add(Core& core, const DesignStore& store, Time now) {
  ++puts_;
  core.fifo.push_back({.at = store.at,
                       .tx = store.tx.id,
                       .number = ++last_number_,
                       .bytes = {store.before, store.before + context().line_bytes()}});
  ++core.used;
  ++present_[store.at.line];
  merge(core.fifo.back(), store, now);
  context().set_flags(store.at.line, kHeld);
}

void TransactionCache::merge(Entry& entry, const DesignStore& store, Time now) const {
  uint64_t word;
  std::memcpy(&word, entry.bytes.data() + store.word, sizeof(word));
  word = (word & ~store.mask) | store.value;
  std::memcpy(entry.bytes.data() + store.word, &word, sizeof(word));
  entry.written = now + write_time_;
  entry.spilled = 0;
}

/// The transaction's active entry of this line, or null.
TransactionCache::Entry* TransactionCache::active(Core& core, uint64_t tx, uint32_t line) {
  for (auto entry = core.fifo.rbegin(); entry != core.fifo.rend(); ++entry) {
    if (entry->tx == tx && entry->at.line == line && !entry->committed) {
      return &*entry;
    }
  }
  return nullptr;
}

/// All entries of the TC are in use. Returns `now` if it has freed one, else the time at which to
/// ask again.
Time TransactionCache::make_room(Core& core, Time now) {
  const auto occupies = [](const Entry& e) { return !e.logged; };
  const auto oldest = std::find_if(core.fifo.begin(), core.fifo.end(), occupies);
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
    entry.log_line = log_lines_;
    log_lines_ += 2;
    const Time line = context().write_own(entry.log_line, start);
    entry.spilled = std::max(line, context().write_own(entry.log_line + 1, start));
  }
  if (entry.spilled > now) {
    return entry.spilled;
  }
  entry.logged = true;
  --core.used;
  ++spills_;
  return now;
}

void TransactionCache::erase(Core& core, const std::deque<Entry>::iterator& entry) {
  core.used -= entry->logged ? 0 : 1;
  if (const auto count = present_.find(entry->at.line); --count->second == 0) {
    present_.erase(count);
  }
  core.fifo.erase(entry);
}

// ---- commit and abort

Time TransactionCache::commit(const DesignTransaction& tx, Time now) {
  Core& core = of(tx);
  Time written = now;
  for (const Entry& entry : core.fifo) {
    written = entry.tx == tx.id ? std::max(written, entry.written) : written;
  }
  if (written > now) {
    return written;
  }
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
      lines.push_back(entry->at);
      const auto index = entry - core.fifo.begin();
      erase(core, entry);
      entry = core.fifo.begin() + index;
    } else {
      ++entry;
    }
  }
  std::vector<std::byte> bytes(context().line_bytes());
  for (const DesignLine at : lines) {
    context().invalidate(at.line);
    if (const Entry* committed = newest(at.line)) {
      context().restore(at.line, committed->bytes.data());
    } else {
      context().medium_bytes(at.offset, bytes.data());
      context().restore(at.line, bytes.data());
    }
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
      if (entry.at.line == line && (found == nullptr || entry.number > found->number)) {
        found = &entry;
      }
    }
  }
  return found;
}

uint8_t TransactionCache::outside_store(DesignLine, uint8_t flags) {
  return flags & static_cast<uint8_t>(~kHeld);
}

DesignFill TransactionCache::fill(DesignLine at, int, Time now) {
  const Time probed = now + read_time_;
  const Entry* entry = newest(at.line);
  if (entry == nullptr) {
    return {.start = options_.probe_first ? probed : now};
  }
  const Time done = entry->logged ? context().read_own(entry->log_line, probed) : probed;
  return {.supplied = true, .done = done, .bytes = entry->bytes.data()};
}

void TransactionCache::leaving(Level from, DesignLine, bool& dirty, uint8_t& flags, Time) {
  if (from == Level::llc) {
    dirty = dirty && (flags & kHeld) == 0;
    flags = 0;
  }
}

bool TransactionCache::memory_write(DesignLine at, Time) {
  Entry* entry = newest(at.line);
  if (entry == nullptr) {
    return true;
  }
  const std::byte* bytes = context().newest(at.line);
  entry->bytes.assign(bytes, bytes + context().line_bytes());
  return false;
}

// ---- drains: from the TC to PM

/// True if another entry has older committed bytes of the line, which must drain first.
bool TransactionCache::older_elsewhere(const Entry& entry) const {
  if (present_.at(entry.at.line) == 1) {
    return false;
  }
  for (const Core& core : cores_) {
    for (const Entry& other : core.fifo) {
      if (other.at.line == entry.at.line && other.committed && other.number < entry.number) {
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
  const Time read = entry->logged ? context().read_own(entry->log_line, now) : now + read_time_;
  core.draining = true;
  core.drains = entry->number;
  core.accepted = context().write(entry->at.line, read);
  context().wake_at(core.accepted);
}

void TransactionCache::finish_drain(Core& core) {
  const auto entry = std::find_if(core.fifo.begin(), core.fifo.end(),
                                  [&](const Entry& e) { return e.number == core.drains; });
  context().persist(entry->at.offset, entry->bytes.data());
  erase(core, entry);
  core.draining = false;
  ++drained_;
  start_drains(core.accepted);
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
