// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/hoop/hoop.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "holdfast/hardware/parts/hardware_slots.h"

namespace holdfast {
namespace {

void require_log(bool has_room) {
  if (!has_room) {
    throw Error(Status(Code::out_of_space,
                       "hardware design hoop: open transactions fill the log; give it more room "
                       "(option region)"));
  }
}

}  // namespace

void Hoop::attach(DesignContext& context) {
  HardwareDesign::attach(context);
  if (context.caches_survive()) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design hoop is made for caches that do not survive: domain pmem"));
  }
  line_bytes_ = context.line_bytes();
  table_entries_ = options_.table_bytes / kTableEntryBytes;
  table_time_ = context.cycles(options_.table_cycles);
  log_.attach(context, options_.region_bytes);
  buffers_.resize(static_cast<size_t>(context.cores()), SliceBuffer(options_.buffer_bytes));
  threads_.resize(hardware_slots(context.machine()));
  filled_.resize(line_bytes_);
  plan_collection(0);
}

std::span<const char* const> Hoop::transitions() const {
  static constexpr const char* kNames[] = {"a slice was written before its transaction's commit",
                                           "a line was merged from its place and the log",
                                           "a collection began by time",
                                           "a collection began because the table was full",
                                           "a collection began because the log was full",
                                           "a line was migrated home",
                                           "the log began a new lap",
                                           "a transaction with slices in the log was aborted",
                                           "a line stored to outside transactions was logged"};
  return kNames;
}

// ---- the table

/// The number of slices that have words of the line. Each takes an entry of the table: line, slice,
/// and the word's place in the slice for each word of the line.
size_t Hoop::entries_of(const Words& words) {
  std::array<uint64_t, 32> slots;  // a line has at most 16 words
  size_t count = 0;
  for (const Word& word : words) {
    for (const Where where : {word.committed, word.open}) {
      if (where != kNowhere && where != kInBuffer &&
          std::find(slots.begin(), slots.begin() + count, slot_of(where)) ==
              slots.begin() + count) {
        slots[count++] = slot_of(where);
      }
    }
  }
  return count;
}

/// Calls f(words) for the words of a line, which it may change. A line without any leaves the
/// table.
void Hoop::change(uint64_t line, FunctionRef<void(Words&)> f) {
  Words& words = table_[line];
  words.resize(line_bytes_ / sizeof(uint64_t));
  used_ -= entries_of(words);
  f(words);
  used_ += entries_of(words);
  if (std::all_of(words.begin(), words.end(), [](const Word& word) {
        return word.committed == kNowhere && word.open == kNowhere;
      })) {
    table_.erase(line);
  }
}

/// Returns `now` if the log has room for a slot, and the table for some entries. Else returns the
/// time at which to ask again, or aborts the transaction of this slot.
Time Hoop::make_room(int slot, size_t entries, Time now) {
  if (const Time ready = log_.slots().ready(now); ready > now) {
    return ready;
  }
  const bool log_full = log_.slots().free() <= kReservedSlots;
  const bool table_full = used_ + entries > table_entries_;
  if (!log_full && !table_full) {
    return now;
  }
  if (collecting()) {
    return collection_.due;
  }
  if (start_collection(now)) {
    context().passed(log_full ? kLogFull : kTableFull);
    return collection_.due;
  }
  // Everything belongs to open transactions.
  if (!options_.overflow) {
    context().doom(slot, AbortCause::capacity, now);
    return now;
  }
  require_log(!log_full);
  return now;
}

// ---- stores

LoggedWord* Hoop::buffered(int slot, uint64_t home) {
  return buffer_of(threads_[static_cast<size_t>(slot)].core).find(slot, home);
}

Time Hoop::put(const DesignStore& store, bool first, Time now) {
  if (collecting() && options_.collect_blocks) {
    return collection_.due;
  }
  Thread& thread = of(store.tx);
  const uint64_t home = store.line.at.offset + store.word;
  const uint64_t value = word_after(store);
  LoggedWord* const word = buffered(store.tx.slot, home);
  if (word == nullptr) {
    const Time ready = begin_slice(store.tx, now);
    if (ready > now || !thread.open) {
      return ready;
    }
  }
  if ((store.flags & kHeld) == 0) {
    // Content from outside transactions leaves the caches first, since lines with the flag are
    // dropped.
    context().write_back(store.line.line, now);
    context().set_flags(store.line.line, kHeld);
  }
  if (first) {
    thread.lines.push_back({store.line, {store.before, store.before + line_bytes_}});
  }
  if (word != nullptr) {
    word->value = value;
    ++coalesced_;
    return now;
  }
  buffer_of(thread.core).add(store.tx.slot, {home, value});
  ++words_;
  change(store.line.at.offset, [&](Words& words) {
    words[store.word / sizeof(uint64_t)].open = kInBuffer;
    words[store.word / sizeof(uint64_t)].owner = store.tx.slot;
  });
  return now;
}

/// The transaction needs a slice with room. Returns `now` if its newest one is such, or if it was
/// aborted; else the time at which to ask again.
Time Hoop::begin_slice(const DesignTransaction& tx, Time now) {
  SliceBuffer& buffer = buffer_of(tx.core);
  const auto write = [&](size_t index) -> std::optional<Time> {
    const Time ready = write_slice(buffer, index, now);
    return of(tx).open ? std::optional<Time>(ready) : std::nullopt;
  };
  return buffer.make_room(tx.slot, now, write, [&] { context().passed(kWrittenEarly); });
}

/// Writes a slice of the buffer to the log. Returns `now` when that has begun, or when its
/// transaction was aborted for lack of room; else the time at which to ask again.
Time Hoop::write_slice(SliceBuffer& buffer, size_t index, Time now) {
  const int slot = buffer.slice(index).slot;
  Thread& thread = threads_[static_cast<size_t>(slot)];
  std::vector<uint64_t> lines;
  for (const LoggedWord& word : buffer.slice(index).words) {
    lines.push_back(line_of(word.home));
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  const Time ready = make_room(slot, lines.size(), now);
  if (ready > now || !thread.open) {
    return ready;
  }
  const SliceBuffer::Slice slice = buffer.take(index);
  const WordLog::Appended at = append(thread.tx, slice.words, now);
  buffer.sent(at.accepted);
  thread.first_slot = thread.slices++ == 0 ? at.slot : thread.first_slot;
  thread.accepted = std::max(thread.accepted, at.accepted);
  for (size_t i = 0; i < slice.words.size(); ++i) {
    change(line_of(slice.words[i].home), [&](Words& words) {
      words[slice.words[i].home % line_bytes_ / sizeof(uint64_t)].open = in_log(at.slot, i);
    });
  }
  for (size_t i = 0; i < lines.size() && used_ > table_entries_; ++i) {
    context().write_dram(bucket(lines[i]), now);
    ++overflowed_;
  }
  return now;
}

WordLog::Appended Hoop::append(uint64_t tx, std::span<const LoggedWord> words, Time now) {
  if (log_.slots().head() % log_.slots().slots() == 0 && log_.slots().head() != 0) {
    context().passed(kNewLap);
  }
  if (words.empty()) {
    ++records_;
    return log_.append_record(tx, now);
  }
  ++slices_;
  return log_.append(tx, words, now);
}

// ---- transactions

Time Hoop::begin(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  if (thread.open) {
    forget(tx.slot);  // its thread has ended without a commit
  }
  thread = {};
  thread.open = true;
  thread.tx = tx.id;
  thread.core = tx.core;
  return now;
}

Time Hoop::commit(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  if (thread.lines.empty()) {
    thread.open = false;
    return now;
  }
  if (thread.recorded == 0) {
    if (collecting() && options_.collect_blocks) {
      return collection_.due;
    }
    if (const Time ready = write_slices(tx, now); ready > now || !thread.open) {
      return ready;
    }
    if (options_.printed != HoopOptions::Printed::together && thread.accepted > now) {
      return thread.accepted;
    }
    if (const Time ready = make_room(tx.slot, 0, now); ready > now || !thread.open) {
      return ready;
    }
    thread.recorded = std::max(thread.accepted, append(tx.id, {}, now).accepted);
  }
  if (thread.recorded > now) {
    return thread.recorded;
  }
  for (const Stored& stored : thread.lines) {
    change(stored.line.at.offset, [&](Words& words) {
      for (Word& word : words) {
        if (word.open != kNowhere && word.owner == tx.slot) {
          word.committed = std::exchange(word.open, kNowhere);
        }
      }
    });
  }
  thread = {};
  return now;
}

/// Writes all slices of the transaction that are in the buffer, at the same time.
Time Hoop::write_slices(const DesignTransaction& tx, Time now) {
  SliceBuffer& buffer = buffer_of(tx.core);
  while (const std::optional<size_t> index = buffer.oldest(tx.slot)) {
    if (const Time ready = write_slice(buffer, *index, now); ready > now || !of(tx).open) {
      return ready;
    }
  }
  return now;
}

/// The bytes from before the transaction are those that the next miss merges from home and log.
Time Hoop::abort(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  if (thread.slices != 0) {
    context().passed(kAborted);
  }
  forget(tx.slot);
  for (const Stored& stored : thread.lines) {
    context().drop(stored.line.line, stored.before.data());
  }
  thread = {};
  return now;
}

/// Removes the open words of a transaction from buffer and table.
void Hoop::forget(int slot) {
  const Thread& thread = threads_[static_cast<size_t>(slot)];
  buffer_of(thread.core).forget(slot);
  for (const Stored& stored : thread.lines) {
    change(stored.line.at.offset, [&](Words& words) {
      for (Word& word : words) {
        word.open = word.owner == slot ? kNowhere : word.open;
      }
    });
  }
}

// ---- caches and memory

uint8_t Hoop::outside_store(DesignLine /*line*/, uint8_t flags) {
  const bool sticks = options_.printed == HoopOptions::Printed::bit;
  return sticks ? flags : flags & static_cast<uint8_t>(~kHeld);
}

DesignFill Hoop::fill(DesignLine line, int /*core*/, Time now) {
  // The table is asked beside the line's place. Entries that have no room there are asked before.
  const Time asked =
      used_ > table_entries_ ? context().read_dram(bucket(line.at.offset), now + table_time_) : now;
  const auto found = table_.find(line.at.offset);
  if (found == table_.end()) {
    return {.start = asked, .flags = kHeld};
  }
  const Time done = merge(line.at, found->second, asked);
  return {.supplied = true, .done = done, .bytes = filled_.data(), .flags = kHeld};
}

/// Brings the newest bytes of a line to filled_. Reads its place, if words are missing, and a line
/// of each slice that has some.
Time Hoop::merge(Place home, const Words& words, Time asked) {
  const auto newest = [](const Word& word) {
    return word.open != kNowhere ? word.open : word.committed;
  };
  const Time looked = asked + table_time_;
  Time done = looked;
  if (std::any_of(words.begin(), words.end(),
                  [&](const Word& word) { return newest(word) == kNowhere; })) {
    done = std::max(done, context().read(home, filled_.data(), ReadCause::data, asked));
  }
  std::map<uint64_t, uint64_t[WordLog::kEntries]> slices;
  for (size_t i = 0; i < words.size(); ++i) {
    const Where where = newest(words[i]);
    const uint64_t* value = nullptr;
    if (where == kInBuffer) {
      value = &buffered(words[i].owner, home.offset + i * sizeof(uint64_t))->value;
    } else if (where != kNowhere) {
      const auto [slice, is_new] = slices.try_emplace(slot_of(where));
      if (is_new) {
        done = std::max(done, log_.read_words(slot_of(where), slice->second, looked));
      }
      value = &slice->second[(where - 1) % WordLog::kEntries];
    }
    if (value != nullptr) {
      std::memcpy(&filled_[i * sizeof(uint64_t)], value, sizeof(*value));
    }
  }
  ++merged_;
  if (!slices.empty()) {
    context().passed(kMerged);
  }
  return done;
}

Leaving Hoop::leaving(const LineMove& move, Time now) {
  if (move.from != Level::llc) {
    return {move.dirty, move.flags, now};
  }
  return {move.dirty && (move.flags & kHeld) == 0, 0, now};
}

/// A line was stored to outside transactions. If the log has words of it, recovery would put these
/// over the line's place. So all words of the line are logged, as a transaction that commits at
/// once. Words of open transactions stay as they are.
MemoryWrite Hoop::memory_write(const LineMove& move, Time now) {
  const uint64_t line = move.line.at.offset;
  if (!table_.contains(line)) {
    return {true, now};
  }
  std::vector<LoggedWord> logged;
  const Words& words = table_.at(line);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].open == kNowhere) {
      logged.push_back({line + i * sizeof(uint64_t), 0});
      std::memcpy(&logged.back().value, move.bytes + i * sizeof(uint64_t), sizeof(uint64_t));
    }
  }
  if (logged.empty()) {
    return {false, now};
  }
  if (log_.slots().free() < kReservedSlots) {
    now = finish_collection(now);
    now = start_collection(now) ? finish_collection(now) : now;
    require_log(log_.slots().free() >= kReservedSlots);
  }
  context().passed(kOutside);
  return {false, log_outside(logged, now)};
}

/// Logs words as a transaction of their own. Returns the time at which that is durable.
Time Hoop::log_outside(std::span<const LoggedWord> logged, Time now) {
  const uint64_t tx = kOutsideBit | ++outside_;
  Time accepted = now;
  for (; !logged.empty(); logged = logged.subspan(std::min(WordLog::kEntries, logged.size()))) {
    const auto slice = logged.first(std::min(WordLog::kEntries, logged.size()));
    const WordLog::Appended at = append(tx, slice, now);
    accepted = std::max(accepted, at.accepted);
    for (size_t i = 0; i < slice.size(); ++i) {
      change(line_of(slice[i].home), [&](Words& words) {
        words[slice[i].home % line_bytes_ / sizeof(uint64_t)].committed = in_log(at.slot, i);
      });
    }
  }
  const Time durable = append(tx, {}, accepted).accepted;
  outside_durable_ = std::max(outside_durable_, durable);
  return durable;
}

std::vector<std::pair<const char*, uint64_t>> Hoop::counters() const {
  return {{"words", words_},           {"coalesced", coalesced_},     {"slices", slices_},
          {"records", records_},       {"outside", outside_},         {"merged", merged_},
          {"overflowed", overflowed_}, {"collections", collections_}, {"migrated", migrated_}};
}

}  // namespace holdfast
