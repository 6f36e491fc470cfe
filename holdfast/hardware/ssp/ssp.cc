// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/ssp/ssp.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "holdfast/hardware/parts/hardware_slots.h"

namespace holdfast {

void Ssp::attach(DesignContext& context) {
  HardwareDesign::attach(context);
  if (context.caches_survive()) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design ssp is made for caches that do not survive: domain pmem"));
  }
  line_bytes_ = context.line_bytes();
  transfer_time_ = static_cast<Time>(std::llround(context.machine().transfer_ns * 1000));
  cache_time_ = context.cycles(options_.cache_cycles);
  journal_.attach(context, options_.journal_bytes, options_.frames);
  threads_.resize(hardware_slots(context.machine()));
  filled_.resize(line_bytes_);
  for (uint64_t frame = options_.frames; frame > 0; --frame) {
    free_frames_.push_back(static_cast<uint32_t>(frame - 1));
  }
}

std::span<const char* const> Ssp::transitions() const {
  static constexpr const char* kNames[] = {"a line went to its other frame before the commit",
                                           "an uncommitted line came back",
                                           "other cores were told that a line moves",
                                           "a transaction with lines in other frames was aborted",
                                           "a page of an open transaction left the TLBs",
                                           "a page was consolidated into its home",
                                           "a page was consolidated into its second frame",
                                           "all second frames were in use",
                                           "a line of a second frame was stored to outside",
                                           "a checkpoint began",
                                           "the journal began a new lap"};
  return kNames;
}

// ---- places

Place Ssp::place(uint64_t page, const Page& entry, size_t line, bool second) const {
  const uint64_t in_page = line * line_bytes_;
  return second ? Place{Space::own, journal_.end() + entry.frame * kPage + in_page}
                : Place{Space::home, page * kPage + in_page};
}

/// The frame that has the line's committed content, or the other one.
Place Ssp::newest_place(Place home, const Page& entry, bool uncommitted) const {
  const bool second = (entry.bits & bit_of(home)) != 0;
  return place(page_of(home), entry, home.offset % kPage / line_bytes_, second != uncommitted);
}

// ---- transactions

Time Ssp::begin(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  if (thread.open) {
    drop_lines(tx.slot, now);  // its thread has ended without a commit
  }
  thread = {};
  thread.open = true;
  thread.core = tx.core;
  return now;
}

Time Ssp::first_store(const DesignStore& store, Time now) {
  Thread& thread = of(store.tx);
  const Place home = store.line.at;
  Page& entry = pages_[page_of(home)];
  if (entry.busy) {
    return next_due(now);
  }
  if (entry.frame == kNoFrame) {
    if (const Time ready = take_frame(store.tx.slot, entry, now); ready > now || !thread.open) {
      return ready;
    }
  }
  if (const Time told = tell_others(thread, store.line.line, entry, now); told > now) {
    return told;
  }
  if (store.flags != flag_of(store.tx.slot)) {
    // Content from outside transactions goes to the committed place, before the line gets its flag.
    context().write_back(store.line.line, now);
    context().set_flags(store.line.line, flag_of(store.tx.slot));
  }
  thread.lines.push_back({store.line, {store.before, store.before + line_bytes_}});
  uint64_t& mask = thread.pages[page_of(home)];
  entry.transactions += mask == 0 ? 1 : 0;
  mask |= bit_of(home);
  open_[home.offset] = store.tx.slot;
  ++remapped_;
  return now;
}

/// Gives the page a second frame. If all are in use, a page gives its own up, and the result is the
/// time at which to ask again; or the transaction is aborted, because all belong to open ones.
Time Ssp::take_frame(int slot, Page& entry, Time now) {
  if (!free_frames_.empty()) {
    entry.frame = free_frames_.back();
    free_frames_.pop_back();
    return now;
  }
  context().passed(kFramesFull);
  if (consolidations_.empty()) {
    const auto idle = [](int most_references) {
      return [most_references](const auto& page) {
        return page.second.frame != kNoFrame && page.second.transactions == 0 &&
               page.second.references <= most_references;
      };
    };
    auto victim = std::find_if(pages_.begin(), pages_.end(), idle(0));
    if (victim == pages_.end()) {
      victim = std::find_if(pages_.begin(), pages_.end(), idle(1 << 20));
    }
    if (victim == pages_.end()) {
      context().doom(slot, AbortCause::capacity, now);
      return now;
    }
    consolidate(victim->first, true, now);
  }
  return free_frames_.empty() ? next_due(now) : take_frame(slot, entry, now);
}

/// The line moves to the other frame. Other cores with the page in their TLBs learn of it as they
/// learn of a store: by a message to each. Returns the time at which they know.
Time Ssp::tell_others(Thread& thread, uint32_t line, const Page& entry, Time now) {
  if (thread.told == 0 || thread.moving != line) {
    thread.moving = line;
    thread.told = now;
    if (entry.references > 1) {
      ++broadcasts_;
      context().passed(kBroadcast);
      thread.told = now + transfer_time_;
    }
  }
  return std::max(now, thread.told);
}

Time Ssp::commit(const DesignTransaction& tx, Time now) {
  Thread& thread = of(tx);
  if (thread.lines.empty()) {
    thread = {};
    return now;
  }
  if (!thread.flushed) {
    thread.flushed = true;
    for (const Stored& stored : thread.lines) {
      if (context().flags(stored.line.line) == flag_of(tx.slot)) {
        context().write_back(stored.line.line, now);  // comes to leaving()
      }
    }
  }
  if (thread.accepted > now && options_.printed != SspOptions::Printed::together) {
    return thread.accepted;
  }
  if (!thread.record.begun()) {
    const Time ready = journal_room((thread.pages.size() + 1) / 2, now);
    if (ready > now) {
      return ready;
    }
    for (const auto& [page, mask] : thread.pages) {
      const Page& entry = pages_.at(page);
      thread.record.changes.push_back(
          {entry.frame, static_cast<uint32_t>(page), mask, ~entry.bits & mask});
    }
  }
  if (const Time ready = journal_.write(thread.record, now); ready > now) {
    return ready;
  }
  if (const Time done = std::max(thread.record.accepted, thread.accepted); done > now) {
    return done;
  }
  journal_.apply(thread.record.changes);
  for (const PageChange& change : thread.record.changes) {
    uint64_t& bits = pages_.at(change.page).bits;
    bits = (bits & ~change.mask) | change.bits;
  }
  for (const Stored& stored : thread.lines) {
    open_.erase(
        stored.line.at.offset);  // the line keeps its flag, which says nothing of clean ones
  }
  end(thread, now);
  return now;
}

Time Ssp::abort(const DesignTransaction& tx, Time now) {
  if (of(tx).accepted != 0) {
    context().passed(kAborted);
  }
  drop_lines(tx.slot, now);
  return now;
}

/// The bits still name the frames with the content from before. The other frames are of no use.
void Ssp::drop_lines(int slot, Time now) {
  Thread& thread = threads_[static_cast<size_t>(slot)];
  for (const Stored& stored : thread.lines) {
    open_.erase(stored.line.at.offset);
    context().drop(stored.line.line, stored.before.data());
  }
  end(thread, now);
}

/// The transaction gives its pages up.
void Ssp::end(Thread& thread, Time now) {
  const Thread ended = std::exchange(thread, {});
  for (const auto& [page, mask] : ended.pages) {
    if (--pages_.at(page).transactions == 0) {
      unused(page, now);
    }
  }
}

// ---- caches and memory

/// A dirty line with a flag belongs to an open transaction.
uint8_t Ssp::outside_store(DesignLine /*line*/, uint8_t /*flags*/) {
  return 0;
}

DesignFill Ssp::fill(DesignLine line, int /*core*/, Time now) {
  const auto found = pages_.find(page_of(line.at));
  if (found == pages_.end() || found->second.frame == kNoFrame) {
    return {.start = now};
  }
  const auto open = open_.find(line.at.offset);
  const bool uncommitted = open != open_.end();
  const uint8_t flags = uncommitted ? flag_of(open->second) : 0;
  if (uncommitted) {
    context().passed(kCameBack);
  }
  const Place from = newest_place(line.at, found->second, uncommitted);
  if (from.space == Space::home) {
    return {.start = now, .flags = flags};
  }
  const Time done = context().read(from, filled_.data(), ReadCause::data, now);
  return {.supplied = true, .done = done, .bytes = filled_.data(), .flags = flags};
}

Leaving Ssp::leaving(const LineMove& move, Time now) {
  if (move.from != Level::llc) {
    return {move.dirty, move.flags, now};
  }
  if (!move.dirty) {
    return {false, 0, now};
  }
  const auto found = pages_.find(page_of(move.line.at));
  if (found == pages_.end() || !open_.contains(move.line.at.offset)) {
    return {true, 0, now};
  }
  Thread& thread = threads_[move.flags - size_t{1}];
  const Place to = newest_place(move.line.at, found->second, true);
  const Time accepted = context().write(to, move.bytes, Cause::data, now).accepted;
  thread.accepted = std::max(thread.accepted, accepted);
  if (!thread.flushed) {
    context().passed(kWrittenEarly);
  }
  return {false, 0, accepted};
}

/// Content from outside transactions goes to the committed place. While the page is being
/// consolidated a power failure may find either frame, so both get it.
MemoryWrite Ssp::memory_write(const LineMove& move, Time now) {
  const auto found = pages_.find(page_of(move.line.at));
  if (found == pages_.end()) {
    return {true, now};
  }
  const Page& entry = found->second;
  const Place to = newest_place(move.line.at, entry, false);
  if (to.space == Space::home && !entry.busy) {
    return {true, now};
  }
  context().passed(kOutside);
  ++outside_;
  Time accepted = context().write(to, move.bytes, Cause::write_back, now).accepted;
  if (entry.busy) {
    const Place both = newest_place(move.line.at, entry, true);
    accepted =
        std::max(accepted, context().write(both, move.bytes, Cause::write_back, now).accepted);
  }
  return {false, accepted};
}

// ---- TLBs

/// The entry of a TLB gets the page's bits from the SSP cache.
Time Ssp::tlb_filled(const TlbPage& page, Time now) {
  ++pages_[page_of(page.first.at)].references;
  return now + cache_time_;
}

/// A transaction whose commit record has begun has all that it needs from the TLBs.
void Ssp::tlb_evicted(const TlbPage& page, Time now) {
  const uint64_t number = page_of(page.first.at);
  const auto found = pages_.find(number);
  if (found == pages_.end() || found->second.references == 0) {
    return;  // it has become persistent since it came
  }
  for (size_t slot = 0; slot < threads_.size(); ++slot) {
    const Thread& thread = threads_[slot];
    if (thread.open && thread.core == page.core && !thread.record.begun() &&
        thread.pages.contains(number)) {
      ++too_large_;
      context().passed(kTooLarge);
      context().doom(static_cast<int>(slot), AbortCause::capacity, now);
    }
  }
  if (--found->second.references == 0) {
    unused(number, now);
  }
}

std::vector<std::pair<const char*, uint64_t>> Ssp::counters() const {
  return {{"remapped", remapped_},
          {"broadcasts", broadcasts_},
          {"journaled", journal_.written_slots()},
          {"consolidated", consolidated_},
          {"copied", copied_},
          {"checkpoints", journal_.checkpoints()},
          {"table_lines", journal_.table_lines()},
          {"too_large", too_large_},
          {"outside", outside_}};
}

}  // namespace holdfast
