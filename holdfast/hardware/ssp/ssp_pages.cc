// SPDX-License-Identifier: Apache-2.0
//
// The part of Ssp for consolidations and checkpoints.
#include <algorithm>
#include <bit>
#include <utility>

#include "holdfast/hardware/ssp/ssp.h"

namespace holdfast {

/// A TLB or a transaction has given the page up. If none has it, it is consolidated soon.
void Ssp::unused(uint64_t page, Time now) {
  const auto found = pages_.find(page);
  const Page& entry = found->second;
  if (entry.references != 0 || entry.transactions != 0 || entry.busy) {
    return;
  }
  if (entry.frame == kNoFrame) {
    pages_.erase(found);
    return;
  }
  unused_.push_back(page);
  context().wake_at(now + 1);
}

/// Copies the page's lines to the frame that has more of them, or to its home. When the copies are
/// accepted, a record says so. Meanwhile no transaction stores to the page, and misses read the
/// lines where they were.
void Ssp::consolidate(uint64_t page, bool to_home, Time now) {
  Page& entry = pages_.at(page);
  const bool home = to_home || static_cast<size_t>(std::popcount(entry.bits)) <= lines() / 2;
  const uint64_t moves = home ? entry.bits : all_lines() & ~entry.bits;
  if (moves == 0) {
    if (entry.bits == 0) {  // all transactions that have stored to it were aborted
      free_frames_.push_back(std::exchange(entry.frame, kNoFrame));
      unused(page, now);
    }
    return;
  }
  Time copied = now;
  std::vector<std::byte> bytes(line_bytes_);
  for (uint64_t rest = moves; rest != 0; rest &= rest - 1) {
    const auto line = static_cast<size_t>(std::countr_zero(rest));
    const Time read =
        context().read(place(page, entry, line, home), bytes.data(), ReadCause::consolidation, now);
    const Place to = place(page, entry, line, !home);
    const DesignWrite copy = context().write(to, bytes.data(), Cause::consolidation, read);
    copied = std::max(copied, copy.accepted);
    ++copied_;
  }
  entry.busy = true;
  const bool release = options_.printed == SspOptions::Printed::release;
  consolidations_.push_back({page, home ? 0 : all_lines(), release ? now : copied, {}});
  context().passed(home ? kConsolidatedHome : kConsolidatedAway);
  context().wake_at(consolidations_.back().due);
}

/// Returns false if the consolidation is done.
bool Ssp::goes_on(Consolidation& c, Time now) {
  if (c.due > now) {
    return true;
  }
  Page& entry = pages_.at(c.page);
  if (!c.record.whole()) {
    const Time ready = c.record.begun() ? now : journal_room(1, now);
    if (ready > now) {
      c.due = ready;
      return true;
    }
    c.record.changes = {{entry.frame, static_cast<uint32_t>(c.page), all_lines(), c.bits}};
    c.due = journal_.write(c.record, now);
    c.due = std::max(c.due, c.record.accepted);
    return c.due > now || goes_on(c, now);
  }
  journal_.apply(c.record.changes);
  entry.bits = c.bits;
  entry.busy = false;
  if (entry.bits == 0) {
    free_frames_.push_back(std::exchange(entry.frame, kNoFrame));
  }
  ++consolidated_;
  return false;
}

void Ssp::consolidate_unused(Time now) {
  for (; !unused_.empty(); unused_.pop_front()) {
    const auto found = pages_.find(unused_.front());
    if (found != pages_.end() && found->second.frame != kNoFrame && !found->second.busy &&
        found->second.references == 0 && found->second.transactions == 0) {
      consolidate(found->first, false, now);
    }
  }
}

/// The first slot of the journal that recovery would need, after a checkpoint.
uint64_t Ssp::oldest_slot() const {
  uint64_t oldest = journal_.slots().head();
  for (const Thread& thread : threads_) {
    oldest = thread.record.written != 0 ? std::min(oldest, thread.record.first_slot) : oldest;
  }
  for (const Consolidation& c : consolidations_) {
    oldest = c.record.written != 0 ? std::min(oldest, c.record.first_slot) : oldest;
  }
  return oldest;
}

/// The time at which some consolidation, or some record, makes its next step.
Time Ssp::next_due(Time now) const {
  Time next = kNever;
  for (const Consolidation& c : consolidations_) {
    next = std::min(next, c.due);
  }
  for (const Thread& thread : threads_) {
    next = thread.record.accepted > now ? std::min(next, thread.record.accepted) : next;
  }
  return next == kNever ? now + 1 : std::max(now + 1, next);
}

/// Returns `now` if the journal has room for so many slots, else the time at which to ask again.
/// Begins a checkpoint when half of it is used.
Time Ssp::journal_room(size_t slots, Time now) {
  OwnLog& log = journal_.slots();
  if (slots + kReservedSlots > log.slots()) {
    throw Error(Status(Code::out_of_space,
                       "hardware design ssp: a transaction has more pages than the journal has "
                       "room for; give it more (option journal)"));
  }
  std::optional<Time> next = journal_.step(now);
  if (!next && log.free() <= log.slots() / 2 && oldest_slot() != log.tail()) {
    journal_.checkpoint(oldest_slot(), now);
    context().passed(kCheckpoint);
    next = journal_.step(now);
  }
  if (next) {
    context().wake_at(std::max(now + 1, *next));
  }
  if (log.free() >= slots + kReservedSlots) {
    if (log.head() / log.slots() != (log.head() + slots) / log.slots()) {
      context().passed(kNewLap);
    }
    return now;
  }
  return next ? std::max(now + 1, *next) : next_due(now);
}

/// Does what is due in the background. Returns the time at which there is more; kNever if there is
/// nothing.
Time Ssp::step(Time now) {
  std::vector<uint64_t> done;
  std::erase_if(consolidations_, [&](Consolidation& c) {
    const bool ends = !goes_on(c, now);
    if (ends) {
      done.push_back(c.page);
    }
    return ends;
  });
  for (const uint64_t page : done) {
    unused(page, now);
  }
  consolidate_unused(now);
  const Time next = journal_.step(now).value_or(kNever);
  return consolidations_.empty() ? next : std::min(next, next_due(now));
}

void Ssp::tick(Time now) {
  if (const Time next = step(now); next != kNever) {
    context().wake_at(std::max(now + 1, next));
  }
}

/// All lines of second frames come home.
Time Ssp::settle(Time now) {
  for (;;) {
    const Time next = step(now);
    std::vector<uint64_t> away;
    for (const auto& [page, entry] : pages_) {
      if (entry.bits != 0 && !entry.busy && entry.transactions == 0) {
        away.push_back(page);
      }
    }
    for (const uint64_t page : away) {
      consolidate(page, true, now);
    }
    if (away.empty() && next == kNever) {
      return now;
    }
    now = next == kNever ? now + 1 : std::max(now + 1, next);
  }
}

}  // namespace holdfast
