// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/fwb/fwb.h"

#include <algorithm>
#include <cstring>

namespace holdfast {

std::span<const char* const> Fwb::transitions() const {
  static constexpr const char* kNames[] = {
      "a store waited for the log buffer", "a store waited for room in the log",
      "a line waited for its record",      "a scan wrote a line back",
      "a scan freed a part of the log",    "a line stored to outside transactions went home",
      "a transaction was aborted"};
  return kNames;
}

// ---- stores

Time Fwb::first_store(const DesignStore& store, Time now) {
  const Time ready = log(store, now);
  if (ready <= now) {
    of(store.tx).lines.push_back(store.line.line);
  }
  return ready;
}

/// Puts the record of a store into the log. Returns the time at which the store may leave.
Time Fwb::log(const DesignStore& store, Time now) {
  Time ready = buffered(store.tx.core, now);
  ready = ready > now ? ready : room(store.tx, now);
  if (ready > now) {
    return ready;
  }
  Record record{.home_bytes = (store.line.at.offset + store.word) & ((uint64_t{1} << 48) - 1),
                .slot = static_cast<uint64_t>(store.tx.slot) & 0xfff,
                .kind = static_cast<uint64_t>(Kind::word),
                .undo = 0,
                .redo = 0};
  std::memcpy(&record.undo, store.before + store.word, sizeof(record.undo));
  record.redo = (record.undo & ~store.mask) | store.value;
  const uint64_t slot = append(record, now);
  last_word_ = slot;
  recorded_[store.line.line] = {slot, kUnsent};
  unsent_.push_back(store.line.line);
  buffers_[static_cast<size_t>(store.tx.core)].push_back(kUnsent);
  std::vector<uint64_t>& slots = of(store.tx).slots;
  if (!of(store.tx).open()) {
    slots.clear();
  }
  if (slots.empty() || slots.back() != slot) {
    slots.push_back(slot);
  }
  if (open_.used == payload()) {
    send(now);
  }
  return now;
}

/// Returns `now` if the core's buffer has room for a record, else the time at which it has.
Time Fwb::buffered(int core, Time now) {
  std::vector<Time>& buffer = buffers_[static_cast<size_t>(core)];
  std::erase_if(buffer, [now](Time accepted) { return accepted <= now; });
  if (buffer.size() < options_.buffer) {
    return now;
  }
  context().passed(kWaited);
  if (*std::min_element(buffer.begin(), buffer.end()) == kUnsent) {
    send(now);
  }
  return *std::min_element(buffer.begin(), buffer.end());
}

/// Returns `now` if a record may be added to the log, else the time at which to ask again. The last
/// slots are left for records that cannot wait: those that end transactions, and of lines stored to
/// outside.
Time Fwb::room(const DesignTransaction& tx, Time now) {
  if (open_line_has_room() && payload() - open_.used >= sizeof(Record)) {
    return now;
  }
  if (const Time ready = log_.ready(now); ready > now) {
    return ready;
  }
  if (log_.free() > reserve()) {
    return now;
  }
  context().passed(kFull);
  if (options_.printed == FwbOptions::Printed::wrap) {
    move_tail(log_.tail() + 1);
    return log_.write_tail(log_.tail(), now);
  }
  if (scan_ == Scan::idle) {
    begin_scan(now);
  }
  const std::vector<uint64_t>& own = of(tx).slots;
  if (of(tx).open() && own.front() == log_.tail()) {
    throw Error(Status(Code::out_of_space,
                       "a transaction makes more stores than the log of hardware design fwb can "
                       "hold; give it a larger one (design option log)"));
  }
  return std::max(due_, now + context().cycles(1));
}

// ---- the log

/// The first slot of the oldest transaction whose end is not in the log; the head if there is none.
uint64_t Fwb::oldest_open(Time now) const {
  uint64_t oldest = log_.head();
  for (const Thread& thread : threads_) {
    if (!thread.slots.empty() && (thread.open() || thread.aborted > now)) {
      oldest = std::min(oldest, thread.slots.front());
    }
  }
  return oldest;
}

/// Adds a record to the log. Returns the slot that it begins in.
uint64_t Fwb::append(const Record& record, Time now) {
  if (!open_line_has_room()) {
    begin_line(0);
  }
  const uint64_t slot = open_.slot;
  const size_t here = std::min(sizeof(record), payload() - open_.used);
  std::memcpy(&open_.bytes[sizeof(Head) + open_.used], &record, here);
  open_.used += here;
  if (const size_t rest = sizeof(record) - here; rest != 0) {
    send(now);
    begin_line(rest);
    std::memcpy(&open_.bytes[sizeof(Head)], reinterpret_cast<const std::byte*>(&record) + here,
                rest);
    open_.used = rest;
  }
  ++records_;
  schedule(now);
  return slot;
}

/// Takes the next slot. The first `first` bytes belong to the record before.
void Fwb::begin_line(size_t first) {
  if (log_.free() == 0) {
    throw Error(Status(Code::out_of_space, "the log of hardware design fwb is full"));
  }
  open_.slot = log_.take();
  open_.used = open_.sent = 0;
  std::fill(open_.bytes.begin(), open_.bytes.end(), std::byte{0});
  const Head head{.number = (open_.slot + 1) & ((uint64_t{1} << 48) - 1),
                  .first = static_cast<uint8_t>(first),
                  .used = 0};
  std::memcpy(open_.bytes.data(), &head, sizeof(head));
}

/// Writes the open line to the log, if it has bytes that the log does not have.
void Fwb::send(Time now) {
  if (open_.sent == open_.used) {
    return;
  }
  open_.sent = open_.used;
  Head head;
  std::memcpy(&head, open_.bytes.data(), sizeof(head));
  head.used = static_cast<uint8_t>(open_.used);
  std::memcpy(open_.bytes.data(), &head, sizeof(head));
  logged_ = std::max(logged_, log_.write(open_.slot, 0, open_.bytes.data(), now));
  ++lines_;
  for (std::vector<Time>& buffer : buffers_) {
    std::replace(buffer.begin(), buffer.end(), kUnsent, logged_);
  }
  for (const uint32_t line : unsent_) {
    recorded_[line].accepted = logged_;
  }
  unsent_.clear();
}

// ---- lines

uint8_t Fwb::outside_store(DesignLine line, uint8_t flags) {
  return recorded_.contains(line.line) ? flags | kOutside : flags;
}

/// Every line gets a flag, because only stores to lines with flags are reported.
DesignFill Fwb::fill(DesignLine /*line*/, int /*core*/, Time now) {
  return {.start = now, .flags = kFilled};
}

/// A line goes home behind its records, and all records before them.
MemoryWrite Fwb::memory_write(const LineMove& move, Time now) {
  marked_.erase(move.line.line);
  const auto found = recorded_.find(move.line.line);
  if (found == recorded_.end()) {
    return {.write = true, .done = now};
  }
  Time start = now;
  if (options_.printed != FwbOptions::Printed::order) {
    if (found->second.accepted == kUnsent) {
      send(now);
    }
    start = std::max(now, found->second.accepted);
  }
  if (start > now) {
    context().passed(kHeld);
  }
  Time home = context().write(move.line.at, move.bytes, Cause::write_back, start).accepted;
  if ((move.flags & kOutside) != 0) {
    append({.home_bytes = move.line.at.offset & ((uint64_t{1} << 48) - 1),
            .slot = 0,
            .kind = static_cast<uint64_t>(Kind::outside),
            .undo = 0,
            .redo = 0},
           home);
    send(home);
    home = std::max(home, logged_);
    ++outside_;
    context().passed(kOutsideHome);
  }
  home_ = std::max(home_, home);
  return {.write = false, .done = home};
}

// ---- the end of a transaction

Time Fwb::commit(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  if (thread.lines.empty()) {
    return now;
  }
  if (thread.durable == 0) {  // the first of the calls for this commit
    append_end(tx, Kind::commit, now);
    thread.durable = std::max(now, logged_);
  }
  if (thread.durable > now) {
    return thread.durable;
  }
  thread = {};
  return now;
}

/// The lines may have gone home, so the old bytes go there before the abort record says that the
/// transaction's records do not count. The simulator remembers the bytes; the time is that of
/// reading the log.
Time Fwb::abort(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  if (thread.lines.empty()) {
    return now;
  }
  std::vector<Place> places;
  for (auto slot = thread.slots.rbegin(); slot != thread.slots.rend(); ++slot) {
    places.push_back(log_.place(*slot, 0));
  }
  const Time read =
      read_lines(context(), places, ReadCause::log, [](size_t, const std::byte*) {}, now);
  Time done = context().roll_back(tx, read);
  if (options_.printed != FwbOptions::Printed::abort) {
    const Time restored = done;
    for (const uint32_t line : thread.lines) {
      done = std::max(done, context().write_back(line, restored));
    }
    append_end(tx, Kind::abort, done);
    done = std::max(done, logged_);
  }
  thread.lines.clear();
  thread.aborted = done;  // until then the log's tail stays before its records
  context().passed(kAborted);
  return done;
}

/// Adds the record that ends a transaction, and sends it.
void Fwb::append_end(const DesignTransaction& tx, Kind kind, Time now) {
  append({.home_bytes = 0,
          .slot = static_cast<uint64_t>(tx.slot) & 0xfff,
          .kind = static_cast<uint64_t>(kind) & 0xf,
          .undo = 0,
          .redo = 0},
         now);
  send(now);
}

std::vector<std::pair<const char*, uint64_t>> Fwb::counters() const {
  return {{"records", records_},
          {"lines", lines_},
          {"scans", scans_},
          {"forced", forced_},
          {"outside", outside_}};
}

}  // namespace holdfast
