// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/proteus/proteus.h"

#include <algorithm>
#include <cstring>

#include "holdfast/hardware/parts/own_log.h"

namespace holdfast {

std::span<const char* const> Proteus::transitions() const {
  static constexpr const char* kNames[] = {
      "a store waited for the LogQ", "the LLT forgot a block",  "a line waited for its log entry",
      "a log entry was dropped",     "a log entry was spilled", "the log wrapped around",
      "a transaction was aborted"};
  return kNames;
}

// ---- stores

Time Proteus::first_store(const DesignStore& store, Time now) {
  const Time ready = log(store, now);
  if (ready <= now) {
    of(store.tx).lines.push_back(store.line.line);
  }
  return ready;
}

/// Logs the block of a store, unless the LLT knows it. Returns the time at which the store may
/// leave.
Time Proteus::log(const DesignStore& store, Time now) {
  const uint64_t block = store.line.at.offset + store.word / kBlock * kBlock;
  if (look_up(of(store.tx), block)) {
    ++filtered_;
    return now;
  }
  std::vector<Time>& queue = logq_[static_cast<size_t>(store.tx.core)];
  std::erase_if(queue, [now](Time accepted) { return accepted <= now; });
  if (queue.size() >= options_.logq) {
    context().passed(kWaited);
    return *std::min_element(queue.begin(), queue.end());
  }
  queue.push_back(append(store, block, now));
  return now;
}

/// Returns whether the LLT knows the block, which is then the latest one.
bool Proteus::look_up(Thread& thread, uint64_t block) {
  const auto found = std::find(thread.llt.begin(), thread.llt.end(), block);
  if (found == thread.llt.end()) {
    return false;
  }
  std::rotate(thread.llt.begin(), found, found + 1);
  return true;
}

/// Writes a log entry. Returns the time of acceptance.
Time Proteus::append(const DesignStore& store, uint64_t block, Time now) {
  const auto slot = static_cast<size_t>(store.tx.slot);
  Thread& thread = threads_[slot];
  if (thread.entries.size() >= capacity()) {
    throw Error(Status(Code::out_of_space,
                       "a transaction stores to more blocks than the log of hardware design "
                       "proteus can hold; give it a larger one (design option area)"));
  }
  Entry entry{.number = thread.number, .home = block};
  std::memcpy(entry.old, store.before + store.word / kBlock * kBlock, kBlock);
  std::vector<std::byte> bytes(context().line_bytes());
  std::memcpy(bytes.data(), &entry, sizeof(entry));
  const uint64_t at = thread.begin + thread.entries.size();
  if (at % capacity() == 0 && at != 0) {
    context().passed(kWrapped);
  }
  const DesignWrite write =
      context().write(place(slot, at), bytes.data(), Cause::log, now, /*cancelable=*/true);
  thread.entries.push_back(write.ticket);
  thread.logged = std::max(thread.logged, write.accepted);
  // Another open transaction may have logged other blocks of the line.
  Time& line_logged = accepted_[store.line.line];
  line_logged = std::max(line_logged, thread.logged);
  if (thread.llt.size() == options_.llt) {
    thread.llt.pop_back();
    context().passed(kForgotten);
  }
  thread.llt.insert(thread.llt.begin(), block);
  ++logged_;
  return write.accepted;
}

/// A line of a transaction may leave the caches before its log entries are accepted, because a
/// store does not wait for them. The write to its place then does. It waits for the entries before
/// these, too: recovery ends at a gap. Behind one, an entry of a block that was logged twice would
/// seem to be the block's first.
MemoryWrite Proteus::memory_write(const LineMove& move, Time now) {
  const auto found = accepted_.find(move.line.line);
  if (found == accepted_.end() || found->second <= now) {
    return {.write = true, .done = now};
  }
  context().passed(kHeld);
  const Time logged = found->second;
  return {.write = false,
          .done = context().write(move.line.at, move.bytes, Cause::write_back, logged).accepted};
}

// ---- the end of a transaction

Time Proteus::commit(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  if (thread.lines.empty()) {
    return now;
  }
  if (options_.printed != ProteusOptions::Printed::commit) {
    if (thread.logged > now) {  // its last stores would still be in the store buffer
      return thread.logged;
    }
    if (thread.home == 0) {  // the first of the calls that get here
      thread.home = write_back(thread, now);
    }
    if (thread.home > now) {
      return thread.home;
    }
  }
  end(static_cast<size_t>(tx.slot), now);
  return now;
}

/// The lines may have been written home, so the old bytes go there before the log ends. The
/// simulator remembers them; the time is that of reading them from the log.
Time Proteus::abort(const DesignTransaction& tx, Time now) {
  const auto slot = static_cast<size_t>(tx.slot);
  Thread& thread = threads_[slot];
  if (thread.lines.empty()) {
    return now;
  }
  std::vector<Place> places;
  for (size_t i = thread.entries.size(); i > 0; --i) {
    places.push_back(place(slot, thread.begin + i - 1));
  }
  const Time read =
      read_lines(context(), places, ReadCause::log, [](size_t, const std::byte*) {}, now);
  const Time restored = context().roll_back(tx, read);
  const bool home = options_.printed != ProteusOptions::Printed::abort;
  const Time done = home ? write_back(thread, restored) : std::max(restored, thread.logged);
  end(slot, done);
  context().passed(kAborted);
  return done;
}

/// Returns the time at which all lines of the transaction are accepted.
Time Proteus::write_back(const Thread& thread, Time now) {
  Time done = now;
  for (const uint32_t line : thread.lines) {
    done = std::max(done, context().write_back(line, now));
  }
  return done;
}

/// The thread's transaction has ended: its log entries do not count any more.
void Proteus::end(size_t slot, Time now) {
  Thread& thread = threads_[slot];
  const uint64_t begin = thread.begin + thread.entries.size();
  if (options_.printed != ProteusOptions::Printed::drop) {
    set_register(slot, {thread.number, begin}, now);
  }
  for (const Ticket entry : thread.entries) {
    const bool dropped = context().cancel(entry, now);
    context().passed(dropped ? kDropped : kSpilled);
    ++(dropped ? dropped_ : spilled_);
  }
  for (const uint32_t line : thread.lines) {
    const auto found = accepted_.find(line);
    if (found != accepted_.end() && found->second <= thread.logged) {
      accepted_.erase(found);
    }
  }
  thread = {.number = thread.number + 1, .begin = begin};
}

std::vector<std::pair<const char*, uint64_t>> Proteus::counters() const {
  return {
      {"logged", logged_}, {"filtered", filtered_}, {"dropped", dropped_}, {"spilled", spilled_}};
}

}  // namespace holdfast
