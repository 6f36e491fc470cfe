// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/kiln/kiln.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast {

std::span<const char* const> Kiln::transitions() const {
  static constexpr const char* kNames[] = {
      "a committed version was displaced",  "a full set refused a line",
      "a full queue gave up a line",        "a line came back from the log",
      "a line of the log was written home", "a transaction was aborted"};
  return kNames;
}

// ---- stores and the request queue

Time Kiln::first_store(const DesignStore& store, Time now) {
  const auto slot = static_cast<size_t>(store.tx.slot);
  Thread& thread = threads_[slot];
  if (const Time ready = enter(slot, store.line, now); ready > now) {
    return ready;
  }
  if (thread.lines.empty()) {
    thread.head = thread.home <= now ? 0 : thread.head;  // else the log is still being read
    thread.begin = thread.head;
    set_register(slot, {1, thread.head, thread.head}, now);
  }
  if (store.dirty && store.flags == 0) {
    // Bytes that were stored outside transactions. An abort must find them below.
    context().push_down(store.tx.core, store.line.line, now);
  }
  context().set_flags_in_l1(store.tx.core, store.line.line, flag_of(slot));
  thread.lines.push_back(store.line);
  return now;
}

/// A line that is clean here has been sent down before. Its record in the log is older now. Its
/// flag may be gone, because clean content takes no flag along when it leaves L1.
Time Kiln::store(const DesignStore& store, Time now) {
  const auto slot = static_cast<size_t>(store.tx.slot);
  if (store.dirty) {
    return now;
  }
  if (logged_.contains(store.line.at.offset)) {
    if (const Time ready = enter(slot, store.line, now); ready > now) {
      return ready;
    }
    logged_.erase(store.line.at.offset);
  }
  if (store.flags != flag_of(slot)) {
    context().set_flags_in_l1(store.tx.core, store.line.line, flag_of(slot));
  }
  return now;
}

/// Enters a line into the request queue. If the queue is almost full, its oldest line goes to the
/// last level and on to the log, and leaves its entry when memory has accepted it. Returns the time
/// at which the line has an entry.
Time Kiln::enter(size_t slot, DesignLine line, Time now) {
  Thread& thread = threads_[slot];
  if (options_.queue == 0) {
    return now;
  }
  const size_t reserve = options_.queue * options_.reserve_percent / 100;
  while (thread.queue.size() + reserve >= options_.queue) {
    const DesignLine oldest = thread.queue.front();
    const Time down = context().write_to_last_level(oldest.line, now);
    thread.forced.push_back(context().write_back(oldest.line, down));
    leave_queue(thread, oldest);
    context().passed(kForced);
  }
  std::erase_if(thread.forced, [now](Time accepted) { return accepted <= now; });
  if (thread.queue.size() + thread.forced.size() >= options_.queue) {
    return *std::min_element(thread.forced.begin(), thread.forced.end());
  }
  thread.queue.push_back(line);
  return now;
}

void Kiln::leave_queue(Thread& thread, DesignLine line) {
  std::erase_if(thread.queue, [&](const DesignLine& other) { return other.line == line.line; });
}

// ---- commit and abort

/// Writes the transaction's lines down to the last level. Those that are there take no time. Each
/// bank of the last level takes one write at a time.
Time Kiln::flush(Thread& thread, Time now) {
  Time done = now;
  for (const DesignLine& line : thread.lines) {
    Time& free = banks_[line.line % banks_.size()];
    const Time start = std::max(now, free);
    const Time written = context().write_to_last_level(line.line, start);
    if (written > start) {
      free = start + write_time_;
      done = std::max(done, written);
      ++flushed_;
    }
  }
  return done;
}

Time Kiln::commit(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  if (thread.lines.empty()) {
    return now;
  }
  const auto slot = static_cast<size_t>(tx.slot);
  const Time flushed = flush(thread, now);
  write_headers(slot, now);
  if (const Time done = std::max(flushed, thread.logged); done > now) {
    return done;
  }
  set_register(slot, {0, thread.begin, thread.head}, now);
  for (const DesignLine& line : thread.lines) {
    context().set_flags(line.line, 0);
  }
  if (thread.begin != thread.head) {
    thread.home = migrate(thread, now);
    set_register(slot, {0, thread.head, thread.head}, thread.home);
  }
  thread.lines.clear();
  thread.queue.clear();
  return now;
}

Time Kiln::abort(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  for (const DesignLine& line : thread.lines) {
    logged_.erase(line.at.offset);
    context().drop(line.line);
  }
  if (!thread.lines.empty()) {
    context().passed(kAborted);
  }
  thread.headers_written = true;  // no recovery reads them
  thread.lines.clear();
  thread.queue.clear();
  return now;
}

// ---- caches

bool Kiln::keeps(const CachedLine& resident, uint8_t coming_flags) {
  if (resident.flags != 0 || coming_flags == 0) {
    return false;
  }
  if (resident.level != Level::llc) {
    return true;
  }
  if (options_.printed == KilnOptions::Printed::overwrite) {
    return false;
  }
  ++displaced_;
  context().passed(kDisplaced);
  return true;
}

/// The last level gives up the line that was used least recently, but no uncommitted one.
size_t Kiln::victim(const VictimChoice& choice) {
  if (choice.level != Level::llc || choice.present) {
    return HardwareDesign::victim(choice);
  }
  for (size_t way = choice.ways; way > 0; --way) {
    const uint32_t meta = choice.set[way - 1].meta;
    if ((meta & sim::LineBits::kFlags) == 0 || (meta & sim::LineBits::kDirty) == 0) {
      return way - 1;
    }
  }
  context().passed(kRefused);
  return kNoWay;
}

Leaving Kiln::leaving(const LineMove& move, Time now) {
  if (move.from != Level::llc || !move.dirty || options_.printed == KilnOptions::Printed::home) {
    return {move.dirty, move.flags, now};
  }
  const size_t slot = slot_of(move.flags);
  const Time accepted = append(slot, move, now);
  leave_queue(threads_[slot], move.line);
  return {.dirty = false, .flags = 0, .done = accepted};
}

DesignFill Kiln::fill(DesignLine line, int /*core*/, Time now) {
  const auto found = logged_.find(line.at.offset);
  if (found == logged_.end()) {
    return {.start = now};  // the addresses are searched while memory is asked
  }
  const Record record = found->second;
  const Time read = context().read(record_place(record.slot, record.number), filled_.data(),
                                   ReadCause::data, now + search_time_);
  logged_.erase(found);
  if (options_.queue != 0) {
    threads_[record.slot].queue.push_back(line);
  }
  ++reloaded_;
  context().passed(kReloaded);
  return {.supplied = true,
          .done = read,
          .bytes = filled_.data(),
          .start = now,
          .dirty = true,
          .flags = flag_of(record.slot)};
}

// ---- the log

/// Writes an uncommitted line to its thread's log. Returns the time of acceptance.
Time Kiln::append(size_t slot, const LineMove& move, Time now) {
  Thread& thread = threads_[slot];
  if (thread.head - thread.begin >= kRecords) {
    throw Error(Status(Code::out_of_space,
                       "a transaction has more lines outside of the caches "
                       "than the log of hardware design kiln can hold"));
  }
  const uint64_t record = thread.head;
  const size_t in_headers = record % (context().line_bytes() / sizeof(uint64_t));
  const Place to = record_place(slot, record);
  thread.logged =
      std::max(thread.logged, context().write(to, move.bytes, Cause::log, now).accepted);
  std::memcpy(&thread.headers[in_headers * sizeof(uint64_t)], &move.line.at.offset,
              sizeof(uint64_t));
  thread.headers_written = false;
  ++thread.head;
  if ((in_headers + 1) * sizeof(uint64_t) == context().line_bytes()) {
    write_headers(slot, now);
  }
  logged_[move.line.at.offset] = {slot, record};
  ++overflowed_;
  return thread.logged;
}

/// Writes the addresses of the latest records, if that has not been done: when their line is full,
/// and at the commit.
void Kiln::write_headers(size_t slot, Time now) {
  Thread& thread = threads_[slot];
  if (std::exchange(thread.headers_written, true)) {
    return;
  }
  const Place to = header_place(slot, thread.head - 1);
  const Time accepted = context().write(to, thread.headers.data(), Cause::table, now).accepted;
  thread.logged = std::max(thread.logged, accepted);
}

/// Writes the transaction's lines that the log has home. Returns the time of acceptance.
Time Kiln::migrate(const Thread& thread, Time now) {
  std::vector<std::byte> bytes(context().line_bytes());
  Time done = now;
  for (const DesignLine& line : thread.lines) {
    const auto found = logged_.find(line.at.offset);
    if (found == logged_.end()) {
      continue;
    }
    const Place from = record_place(found->second.slot, found->second.number);
    const Time read = context().read(from, bytes.data(), ReadCause::migration, now);
    const DesignWrite home = context().write(line.at, bytes.data(), Cause::migration, read);
    done = std::max(done, home.accepted);
    logged_.erase(found);
    ++migrated_;
    context().passed(kMigrated);
  }
  return done;
}

std::vector<std::pair<const char*, uint64_t>> Kiln::counters() const {
  return {{"flushed", flushed_},
          {"displaced", displaced_},
          {"overflowed", overflowed_},
          {"reloaded", reloaded_},
          {"migrated", migrated_}};
}

}  // namespace holdfast
