// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/redu/redu.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "holdfast/hardware/parts/hardware_slots.h"

namespace holdfast {

void Redu::attach(DesignContext& context) {
  HardwareDesign::attach(context);
  if (context.caches_survive()) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design redu is made for caches that do not survive: domain pmem"));
  }
  line_bytes_ = context.line_bytes();
  reserved_slots_ = line_bytes_ / sizeof(uint64_t) / WordLog::kLineWords + 1;
  log_.attach(context, options_.region_bytes, entry_words());
  dram_.attach(context, options_.dram_bytes, options_.ways, options_.dram_cycles);
  buffers_.resize(static_cast<size_t>(context.cores()),
                  SliceBuffer(options_.buffer_bytes, entry_words()));
  threads_.resize(hardware_slots(context.machine()));
}

std::span<const char* const> Redu::transitions() const {
  static constexpr const char* kNames[] = {"a slice was written before its transaction's commit",
                                           "an uncommitted line came to the DRAM cache",
                                           "a line came back from the DRAM cache",
                                           "a committed version made room for an uncommitted one",
                                           "a full set sent a committed line home",
                                           "a full set overflowed",
                                           "a line went home",
                                           "a part of the log became free",
                                           "the log began a new lap",
                                           "a transaction with slices in the log was aborted",
                                           "a line stored to outside transactions was logged"};
  return kNames;
}

// ---- stores

Time Redu::put(const DesignStore& store, bool first, Time now) {
  Thread& thread = of(store.tx);
  SliceBuffer& buffer = buffer_of(thread.core);
  const uint64_t home = store.line.at.offset + store.word;
  LoggedWord* const word = buffer.find(store.tx.slot, home);
  if (word == nullptr) {
    const Time ready = begin_slice(store.tx, now);
    if (ready > now || !thread.open) {
      return ready;
    }
  }
  if (first && store.flags != flag_of(store.tx.slot)) {
    // Content from outside transactions goes home first, since lines with the flag do not.
    context().write_back(store.line.line, now);
    context().set_flags(store.line.line, flag_of(store.tx.slot));
  }
  if (first) {
    thread.lines.push_back(store.line);
  }
  if (word != nullptr) {
    word->value = word_after(store);
    ++coalesced_;
  } else {
    add_entry(store, buffer);
  }
  return now;
}

/// Adds the word to the buffer, or with it the others of its 64 bytes.
void Redu::add_entry(const DesignStore& store, SliceBuffer& buffer) {
  const size_t bytes = entry_words() * sizeof(uint64_t);
  const size_t begin = store.word / bytes * bytes;
  for (size_t word = begin; word < begin + bytes; word += sizeof(uint64_t)) {
    uint64_t value;
    std::memcpy(&value, store.before + word, sizeof(value));
    buffer.add(store.tx.slot,
               {store.line.at.offset + word, word == store.word ? word_after(store) : value});
  }
  words_ += entry_words();
}

/// The transaction needs a slice with room. Returns `now` if its newest one is such, or if it was
/// aborted; else the time at which to ask again.
Time Redu::begin_slice(const DesignTransaction& tx, Time now) {
  SliceBuffer& buffer = buffer_of(tx.core);
  const auto write = [&](size_t index) -> std::optional<Time> {
    const Time ready = write_slice(buffer, index, now);
    return of(tx).open ? std::optional<Time>(ready) : std::nullopt;
  };
  return buffer.make_room(tx.slot, now, write, [&] { context().passed(kWrittenEarly); });
}

/// Writes a slice of the buffer to the log. Returns `now` when that has begun, or when its
/// transaction was aborted for lack of room; else the time at which to ask again.
Time Redu::write_slice(SliceBuffer& buffer, size_t index, Time now) {
  const int slot = buffer.slice(index).slot;
  Thread& thread = threads_[static_cast<size_t>(slot)];
  const Time ready = log_room(slot, now);
  if (ready > now || !thread.open) {
    return ready;
  }
  const SliceBuffer::Slice slice = buffer.take(index);
  const WordLog::Appended at = append(thread.tx, slice.words, now);
  buffer.sent(at.accepted);
  thread.first_slot = thread.slices++ == 0 ? at.slot : thread.first_slot;
  thread.accepted = std::max(thread.accepted, at.accepted);
  return now;
}

/// Writes all slices of the transaction that are in the buffer, at the same time.
Time Redu::write_slices(const DesignTransaction& tx, Time now) {
  SliceBuffer& buffer = buffer_of(tx.core);
  while (const std::optional<size_t> index = buffer.oldest(tx.slot)) {
    if (const Time ready = write_slice(buffer, *index, now); ready > now || !of(tx).open) {
      return ready;
    }
  }
  return now;
}

/// Appends a slice, or without words a commit record.
WordLog::Appended Redu::append(uint64_t tx, std::span<const LoggedWord> words, Time now) {
  if (log_.slots().head() % log_.slots().slots() == 0 && log_.slots().head() != 0) {
    context().passed(kNewLap);
  }
  for (const LoggedWord& word : words) {
    logged_[word.home / line_bytes_ * line_bytes_] = log_.slots().head();
  }
  ++(words.empty() ? records_ : slices_);
  return words.empty() ? log_.append_record(tx, now) : log_.append(tx, words, now);
}

// ---- transactions

Time Redu::begin(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  if (thread.open) {
    drop_lines(tx.slot, now);  // its thread has ended without a commit
  }
  thread = {};
  thread.open = true;
  thread.tx = tx.id;
  thread.core = tx.core;
  return now;
}

Time Redu::commit(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  if (thread.lines.empty()) {
    thread = {};
    return now;
  }
  if (thread.recorded == 0) {
    if (const Time ready = write_slices(tx, now); ready > now || !thread.open) {
      return ready;
    }
    if (options_.printed != ReduOptions::Printed::together && thread.accepted > now) {
      return thread.accepted;
    }
    if (const Time ready = log_room(tx.slot, now); ready > now || !thread.open) {
      return ready;
    }
    thread.recorded = std::max(thread.accepted, append(tx.id, {}, now).accepted);
  }
  if (thread.recorded > now) {
    return thread.recorded;
  }
  push_lines(tx.slot, now);
  thread = {};
  flush_some(false, now);
  return now;
}

/// The lines of a committed transaction go to the DRAM cache. First those that are there count as
/// committed, so that no other line takes them for uncommitted ones. The caches keep the lines,
/// clean, with their flags: the thread's next transaction may store to them.
void Redu::push_lines(int slot, Time now) {
  Thread& thread = threads_[static_cast<size_t>(slot)];
  thread.committed = true;
  retiring_[thread.first_slot] = 1;  // counts the transaction itself until all its lines are there
  for (const DesignLine& line : thread.lines) {
    DramCache::Line* const held = dram_.find(line.at.offset);
    if (held != nullptr && held->owner == slot) {
      held->owner = DramCache::kCommitted;
      commits(*held, thread.first_slot);
    }
  }
  for (const DesignLine& line : thread.lines) {
    if (context().flags(line.line) == flag_of(slot)) {
      context().write_back(line.line, now);  // comes to leaving()
    }
  }
  --retiring_[thread.first_slot];
}

Time Redu::abort(const DesignTransaction& tx, Time now) {
  if (of(tx).slices != 0) {
    context().passed(kAborted);
  }
  drop_lines(tx.slot, now);
  of(tx) = {};
  return now;
}

/// Drops what buffer, caches and DRAM cache have of an open transaction. The bytes from before are
/// those of the DRAM cache, if it has a committed version, else those at home.
void Redu::drop_lines(int slot, Time now) {
  Thread& thread = threads_[static_cast<size_t>(slot)];
  thread.open = false;
  buffer_of(thread.core).forget(slot);
  for (const DesignLine& line : thread.lines) {
    DramCache::Line* held = dram_.find(line.at.offset);
    if (held != nullptr && held->owner == slot) {
      if (!held->transactions.empty()) {  // printed=overwrite: the log can do without them
        flushed_.push_back({now, held->transactions});
      }
      dram_.erase(line.at.offset);
      held = nullptr;
    }
    context().drop(line.line, held == nullptr ? nullptr : held->bytes.data());
  }
}

// ---- caches and memory

/// The flag of a line that is clean has no meaning any more.
uint8_t Redu::outside_store(DesignLine /*line*/, uint8_t /*flags*/) {
  return 0;
}

/// EHOU models the latency of the DRAM cache for each read of PM. With a predictor only the lines
/// that it has are read there.
DesignFill Redu::fill(DesignLine line, int /*core*/, Time now) {
  const DramCache::Line* const held = dram_.find(line.at.offset);
  if (held == nullptr && options_.predict) {
    return {.start = now};
  }
  Time asked = dram_.read(line.at.offset, now);
  if (dram_.overflowed() != 0) {
    asked = dram_.read(line.at.offset + line_bytes_, asked);
  }
  if (held == nullptr) {
    return {.start = asked};
  }
  ++found_;
  context().passed(kCameBack);
  const uint8_t flags = held->owner == DramCache::kCommitted ? 0 : flag_of(held->owner);
  return {.supplied = true, .done = asked, .bytes = held->bytes.data(), .flags = flags};
}

Leaving Redu::leaving(const LineMove& move, Time now) {
  if (move.from != Level::llc) {
    return {move.dirty, move.flags, now};
  }
  if (!move.dirty) {
    return {false, 0, now};
  }
  const int slot = slot_of(move.flags);
  const Thread& thread = threads_[static_cast<size_t>(slot)];
  if (!thread.committed) {
    context().passed(kHeldBack);
    return {false, 0, hold(move, slot, now)};
  }
  const Time done = hold(move, DramCache::kCommitted, now);
  commits(*dram_.find(move.line.at.offset), thread.first_slot);
  return {false, 0, done};
}

/// A line was stored to outside transactions. If the log has words of it, recovery would put these
/// over the line's place. So the line is logged as a transaction that commits at once.
MemoryWrite Redu::memory_write(const LineMove& move, Time now) {
  const auto found = logged_.find(move.line.at.offset);
  if (found == logged_.end() || found->second < log_.slots().tail()) {
    return {true, now};
  }
  return {false, log_outside(move, now)};
}

Time Redu::log_outside(const LineMove& move, Time now) {
  while (log_.slots().free() < reserved_slots_) {
    const Time next = step(true, now);
    if (next == kNever) {
      throw Error(Status(Code::out_of_space,
                         "hardware design redu: open transactions fill the log; give it more room "
                         "(option region)"));
    }
    now = std::max(now + 1, next);
  }
  context().passed(kOutside);
  const uint64_t tx = kOutsideBit | ++outside_;
  const uint64_t first_slot = log_.slots().head();
  Time accepted = now;
  for (size_t at = 0; at < line_bytes_; at += WordLog::kLineWords * sizeof(uint64_t)) {
    LoggedWord words[WordLog::kLineWords];  // eight entries, or one
    for (size_t i = 0; i < WordLog::kLineWords; ++i) {
      words[i].home = move.line.at.offset + at + i * sizeof(uint64_t);
      std::memcpy(&words[i].value, move.bytes + at + i * sizeof(uint64_t), sizeof(uint64_t));
    }
    accepted = std::max(accepted, append(tx, words, now).accepted);
  }
  const Time durable = append(tx, {}, accepted).accepted;
  const Time done = hold(move, DramCache::kCommitted, now);
  commits(*dram_.find(move.line.at.offset), first_slot);
  context().wake_at(done);
  return std::max(durable, done);
}

std::vector<std::pair<const char*, uint64_t>> Redu::counters() const {
  return {{"words", words_},     {"coalesced", coalesced_},   {"slices", slices_},
          {"records", records_}, {"outside", outside_},       {"held", held_},
          {"found", found_},     {"overflowed", overflowed_}, {"home", home_},
          {"tails", tails_}};
}

}  // namespace holdfast
