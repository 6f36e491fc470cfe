// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/hercules/hercules.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast {

void Hercules::attach(DesignContext& context) {
  HardwareDesign::attach(context);
  if (!context.caches_survive()) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design hercules needs caches that survive: domain eadr"));
  }
  search_time_ = context.cycles(options_.search_cycles);
  reset_time_ = context.cycles(options_.reset_cycles);
  const MachineDescription& m = context.machine();
  const double cycles[3] = {m.l1.hit_cycles, m.l2.hit_cycles, m.llc.hit_cycles};
  for (size_t i = 0; i < 3; ++i) {
    const double above = i == 0 ? 0 : cycles[i - 1];
    tag_time_[i] = context.cycles((cycles[i] - above) * options_.tag_percent / 100);
  }
  threads_.resize(structures(m)[kThreads].entries);
  read_sets_ = ReadSets(threads_.size());
  if (options_.numbers <= threads_.size()) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design hercules needs more numbers of transactions than this "
                       "machine's hardware threads and two: numbers=" +
                           std::to_string(threads_.size() + 1)));
  }
  for (size_t i = options_.ewpq_entries; i > 0; --i) {
    free_.push_back(i - 1);
  }
  header_.resize(context.line_bytes());
  filled_.resize(context.line_bytes());
}

std::span<const char* const> Hercules::transitions() const {
  static constexpr const char* kNames[] = {"committed content was pushed one level down",
                                           "a tagged line was flushed to the log",
                                           "a line came back from the log",
                                           "an entry of the eWPQ went to the extension",
                                           "a line was migrated home",
                                           "a record was appended again",
                                           "a transaction was aborted"};
  return kNames;
}

// ---- transactions

Time Hercules::begin(const DesignTransaction& tx, Time now) {
  Thread& thread = threads_[static_cast<size_t>(tx.slot)];
  if (const Time ready = take_number(thread.tx, now); ready > now) {
    return ready;
  }
  thread.core = tx.core;
  thread.committed = 0;
  const uint32_t none = 0;
  thread.cleared =
      context().store_own(tx.core, element_of(thread.tx), std::as_bytes(std::span(&none, 1)), now);
  return now;
}

/// Takes the next number that no open transaction has. Before numbers are used again, no record of
/// their earlier transactions may be left.
Time Hercules::take_number(uint64_t& number, Time now) {
  number = 0;
  const auto is_open = [&](uint64_t tx) {
    return std::any_of(threads_.begin(), threads_.end(),
                       [&](const Thread& thread) { return thread.tx == tx; });
  };
  const auto log_is_home = [&] {
    return options_.printed_wrap ? now : std::max(migrate(now), forgotten_);
  };
  uint64_t next = last_tx_;
  do {
    if (next == options_.numbers) {
      if (const Time ready = log_is_home(); ready > now) {
        return ready;
      }
      next = 0;
      for (const Thread& thread : threads_) {
        outlived_.insert(thread.tx);
      }
    }
    ++next;
    // It was open then, so its records were not migrated.
    if (outlived_.contains(next) && !is_open(next)) {
      if (const Time ready = log_is_home(); ready > now) {
        return ready;
      }
      outlived_.erase(next);
    }
  } while (is_open(next));
  number = last_tx_ = next;
  return now;
}

void Hercules::loaded(const DesignTransaction& tx, DesignLine line, Time now) {
  if (const uint8_t tag = context().flags(line.line); tag != 0 && tag != tag_of(tx.slot)) {
    // A thread of the same core, whose touch of the common L1 touched() does not report.
    context().doom(tag - 1, AbortCause::conflict, now);
  }
  read_sets_.loaded(tx.slot, line.line);
}

Time Hercules::first_store(const DesignStore& store, Time now) {
  Thread& thread = threads_[static_cast<size_t>(store.tx.slot)];
  if (options_.isolate && store.flags != 0 && store.flags != tag_of(store.tx.slot)) {
    context().doom(store.flags - 1, AbortCause::conflict, now);
    return now + 1;  // asks again with the content from before that transaction
  }
  for (const int reader : read_sets_.readers(store.line.line)) {
    if (reader != store.tx.slot) {
      context().doom(reader, AbortCause::conflict, now);
    }
  }
  if (store.dirty && store.flags == 0) {
    context().push_down(store.tx.core, store.line.line, now);
    context().passed(kPushedDown);
  }
  if (thread.lines.empty()) {
    context().change(kThreads, static_cast<size_t>(store.tx.slot),
                     reinterpret_cast<const std::byte*>(&thread.tx), now);
  }
  context().set_flags_in_l1(store.tx.core, store.line.line, tag_of(store.tx.slot));
  thread.lines.push_back(store.line);
  return now;
}

Time Hercules::commit(const DesignTransaction& tx, Time now) {
  Thread& thread = threads_[static_cast<size_t>(tx.slot)];
  read_sets_.end(tx.slot);  // it commits now, and no later store can abort it
  if (thread.committed == 0 && !thread.lines.empty()) {
    const auto length = static_cast<uint32_t>(thread.lines.size());
    // The line of lengths may still be on its way to L1, for which the start did not wait.
    const Time stored = context().store_own(tx.core, element_of(thread.tx),
                                            std::as_bytes(std::span(&length, 1)), now);
    thread.committed = reset_time_ + std::max(thread.cleared, stored);
    for (const DesignLine& line : thread.lines) {
      context().set_flags(line.line, 0);
      const auto found = entries_.find(line.at.offset);
      if (found != entries_.end() && found->second.open) {
        found->second.open = false;
        if (found->second.in_queue) {  // TxLen alone says it for those of the extension
          save(found->second, now);
        }
      }
    }
  }
  if (thread.committed > now) {
    return thread.committed;
  }
  thread.committed = 0;
  thread.tx = 0;
  thread.lines.clear();
  return now;
}

Time Hercules::abort(const DesignTransaction& tx, Time now) {
  Thread& thread = threads_[static_cast<size_t>(tx.slot)];
  read_sets_.end(tx.slot);
  for (const DesignLine& line : std::exchange(thread.lines, {})) {
    const auto found = entries_.find(line.at.offset);
    if (found != entries_.end() && found->second.open) {
      const Entry entry = found->second;
      forget(entry, now);
    }
    context().drop(line.line);
  }
  thread.committed = 0;
  thread.tx = 0;
  context().passed(kAborted);
  return now;
}

// ---- caches

void Hercules::touched(const Touch& touch, Time now) {
  const int owner = touch.flags - 1;
  if (owner != touch.slot) {
    context().doom(owner, AbortCause::conflict, now);
  }
}

Time Hercules::hit(Level level, const Touch& /*touch*/, Time done) {
  return level > Level::llc ? done : done + tag_time_[static_cast<size_t>(level)];
}

bool Hercules::keeps(const CachedLine& resident, uint8_t coming_flags) {
  return resident.flags == 0 && coming_flags != 0;
}

size_t Hercules::quota(Level level, size_t ways) const {
  const auto percent =
      static_cast<size_t>(level == Level::l2 ? options_.l2_percent : options_.llc_percent);
  return std::max<size_t>(1, ways * percent / 100);
}

/// Once tagged lines have their part of the set, they compete with each other. They do not leave
/// for other lines.
size_t Hercules::victim(const VictimChoice& choice) {
  if (choice.level == Level::l1) {
    return HardwareDesign::victim(choice);
  }
  size_t tagged = 0;
  size_t last_tagged = kNoWay;
  size_t last_plain = kNoWay;
  for (size_t i = 0; i < choice.ways; ++i) {
    const sim::CacheArray::Way& way = choice.set[i];
    if (way.line() == sim::CacheArray::kNoLine || way.line() == choice.line) {
      continue;
    }
    if ((way.meta & sim::LineBits::kFlags) != 0) {
      ++tagged;
      last_tagged = i;
    } else {
      last_plain = i;
    }
  }
  const bool full = choice.flags != 0 && tagged >= quota(choice.level, choice.ways);
  if (choice.present) {
    return full ? last_tagged : kNoWay;
  }
  return full || last_plain == kNoWay ? last_tagged : last_plain;
}

DesignFill Hercules::fill(DesignLine line, int core, Time now) {
  if (line.at.space == Space::own) {
    return {.start = now};
  }
  auto found = entries_.find(line.at.offset);
  if (aborts_touched() && found != entries_.end() && found->second.open &&
      threads_[static_cast<size_t>(found->second.slot)].core != core) {
    context().doom(found->second.slot, AbortCause::conflict, now);
    found = entries_.find(line.at.offset);
  }
  if (found == entries_.end()) {
    // The eWPQ is asked beside the line's place. The extension is asked before.
    const size_t outside = extension_ - free_extension_.size();
    if (outside == 0) {
      return {.start = now};
    }
    const size_t bucket = line.at.offset / context().line_bytes() % extension_;
    return {.start = context().read(extension_place(bucket), nullptr, ReadCause::table,
                                    now + search_time_)};
  }
  const Entry entry = found->second;
  Time asked = now + search_time_;
  if (!entry.in_queue) {
    asked = context().read(extension_place(entry.place), nullptr, ReadCause::table, asked);
  }
  // The record has the full address, which the eWPQ has not.
  const Time checked = context().read(header_place(entry.record), nullptr, ReadCause::log, asked);
  const Time read =
      context().read(record_place(entry.record), filled_.data(), ReadCause::data, asked);
  const Time forgotten = forget(entry, std::max(checked, read));
  ++reloaded_;
  context().passed(kReloaded);
  return {.supplied = true,
          .done = std::max({checked, read, forgotten}),
          .bytes = filled_.data(),
          .start = now,
          .dirty = entry.open || !options_.printed_reload,
          .flags = entry.open ? tag_of(entry.slot) : uint8_t{0}};
}

Leaving Hercules::leaving(const LineMove& move, Time now) {
  if (move.from != Level::llc) {
    return {move.dirty, move.flags, now};
  }
  if (!move.dirty) {
    return {false, 0, now};
  }
  const int slot = move.flags - 1;
  Entry entry{.home = move.line.at.offset,
              .tx = threads_[static_cast<size_t>(slot)].tx,
              .slot = slot,
              .open = true};
  ++flushed_;
  const Time done = insert(std::move(entry), move.bytes, now);
  context().passed(kFlushed);
  return {false, 0, done};
}

// ---- the log and the eWPQ

/// Writes a record at the log's head. Returns the time at which it is accepted.
Time Hercules::append(Entry& entry, const std::byte* bytes, Time now) {
  const uint64_t next = (head_ + 1) % options_.records;
  if (next == tail_) {
    throw Error(Status(Code::out_of_space,
                       "open transactions have more lines outside of the caches than the log of "
                       "hardware design hercules can hold"));
  }
  entry.record = head_;
  const size_t in_header = entry.record % (context().line_bytes() / sizeof(uint64_t));
  std::memcpy(header_.data() + in_header * sizeof(uint64_t), &entry.home, sizeof(uint64_t));
  const Time data = context().write(record_place(entry.record), bytes, Cause::log, now).accepted;
  const Time header =
      context().write(header_place(entry.record), header_.data(), Cause::table, now).accepted;
  head_ = next;
  homes_[entry.record] = entry.home;
  return std::max(data, header);
}

/// Puts a line into the log and into the eWPQ.
Time Hercules::insert(Entry entry, const std::byte* bytes, Time now) {
  Time done = free_.empty() ? make_room(now) : now;
  entry.place = free_.back();
  free_.pop_back();
  entry.used = ++uses_;
  done = std::max(done, append(entry, bytes, now));
  save(entry, now);
  entries_[entry.home] = entry;
  in_queue_.emplace(entry.used, entry.home);
  collect(now);
  return done;
}

/// Moves the least recently used entry of the eWPQ to the extension.
Time Hercules::make_room(Time now) {
  Entry* const oldest = &entries_.at(in_queue_.begin()->second);
  in_queue_.erase(in_queue_.begin());
  const size_t place = oldest->place;
  oldest->in_queue = false;
  if (free_extension_.empty()) {
    oldest->place = extension_;
    set_extension(extension_ + 1, now);
  } else {
    oldest->place = free_extension_.back();
    free_extension_.pop_back();
  }
  const Time done = save(*oldest, now);
  const uint64_t none = 0;
  context().change(kQueue, place, reinterpret_cast<const std::byte*>(&none), now);
  free_.push_back(place);
  ++overflowed_;
  context().passed(kQueueOverflowed);
  return done;
}

/// Brings an entry to its place in the eWPQ or in the extension.
Time Hercules::save(const Entry& entry, Time now) {
  const uint64_t word =
      Packed::of(entry.tx, entry.home / context().line_bytes(), entry.record, entry.open);
  if (entry.in_queue) {
    context().change(kQueue, entry.place, reinterpret_cast<const std::byte*>(&word), now);
    return now;
  }
  return set_extended(entry.place, word, now);
}

/// Changes an entry of the extension. A line has several of them, so writes to neighbours merge in
/// the write queue.
Time Hercules::set_extended(size_t entry, uint64_t word, Time now) {
  const size_t each = context().line_bytes() / sizeof(word);
  const size_t first = entry / each * each;
  extended_.resize(std::max(extended_.size(), first + each));
  extended_[entry] = word;
  const auto* const line = reinterpret_cast<const std::byte*>(extended_.data() + first);
  return context().write(extension_place(entry), line, Cause::table, now).accepted;
}

/// The line is no longer in the log. Returns the time from which on that survives.
Time Hercules::forget(const Entry& entry, Time now) {
  Time done = now;
  if (entry.in_queue) {
    const uint64_t none = 0;
    context().change(kQueue, entry.place, reinterpret_cast<const std::byte*>(&none), now);
    free_.push_back(entry.place);
    in_queue_.erase(entry.used);
  } else {
    done = set_extended(entry.place, 0, now);
    free_extension_.push_back(entry.place);
  }
  forgotten_ = std::max(forgotten_, done);
  homes_.erase(entry.record);
  const uint64_t home = entry.home;  // `entry` may be the one that is erased
  entries_.erase(home);
  return done;
}

void Hercules::set_extension(uint64_t entries, Time now) {
  extension_ = entries;
  context().change(kExtension, 0, reinterpret_cast<const std::byte*>(&extension_), now);
}

// ---- background

void Hercules::tick(Time now) {
  migrate(now);
}

/// Writes all committed lines of the log home.
Time Hercules::migrate(Time now) {
  std::vector<uint64_t> committed;
  for (const auto& [home, entry] : entries_) {
    if (!entry.open) {
      committed.push_back(home);
    }
  }
  std::sort(committed.begin(), committed.end());  // the order of a table is the host's
  Time done = now;
  for (const uint64_t home : committed) {
    done = std::max(done, migrate(Entry(entries_.at(home)), now));
  }
  return done;
}

/// The entry is given up when the controller has accepted the line.
Time Hercules::migrate(const Entry& entry, Time now) {
  std::vector<std::byte> bytes(context().line_bytes());
  const Time read =
      context().read(record_place(entry.record), bytes.data(), ReadCause::migration, now);
  const Time home =
      context().write({Space::home, entry.home}, bytes.data(), Cause::migration, read).accepted;
  ++migrated_;
  const Time done = forget(entry, home);
  context().passed(kMigrated);
  return done;
}

/// Shortens a log that is too long, at its tail: 32 records at a time.
void Hercules::collect(Time now) {
  constexpr uint64_t kChunk = 32;
  const auto length = [&] { return (head_ - tail_) % options_.records; };
  if (length() <= options_.collect_entries) {
    return;
  }
  std::vector<std::byte> bytes(context().line_bytes());
  for (uint64_t i = 0; i < kChunk && length() > 1; ++i) {
    const uint64_t record = tail_;
    if (const auto home = homes_.find(record); home != homes_.end()) {
      Entry& entry = entries_.at(home->second);
      if (entry.open) {
        const Time read =
            context().read(record_place(record), bytes.data(), ReadCause::migration, now);
        homes_.erase(record);
        const Time done = append(entry, bytes.data(), read);
        save(entry, done);
        context().passed(kAppendedAgain);
      } else {
        migrate(Entry(entry), now);
      }
    }
    tail_ = (record + 1) % options_.records;
  }
}

Time Hercules::settle(Time now) {
  return migrate(now);
}

std::vector<std::pair<const char*, uint64_t>> Hercules::counters() const {
  return {{"flushed", flushed_},
          {"reloaded", reloaded_},
          {"overflowed", overflowed_},
          {"migrated", migrated_}};
}

}  // namespace holdfast
