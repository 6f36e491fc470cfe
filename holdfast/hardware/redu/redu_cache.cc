// SPDX-License-Identifier: Apache-2.0
//
// The part of Redu for the DRAM cache, the way home, and the end of the log.
#include <algorithm>
#include <utility>

#include "holdfast/hardware/redu/redu.h"

namespace holdfast {

// ---- the DRAM cache

/// A line comes to the DRAM cache, as content of the transaction of slot `owner`, or as committed
/// content. Returns the time at which the caches have room for another one.
Time Redu::hold(const LineMove& move, int owner, Time now) {
  DramCache::Line* held = dram_.find(move.line.at.offset);
  if (held != nullptr && held->owner == DramCache::kCommitted && owner != DramCache::kCommitted &&
      options_.printed != ReduOptions::Printed::overwrite) {
    context().passed(kDisplaced);
    now = flush(*held, now);
    held = nullptr;
  }
  if (held == nullptr) {
    held = place_for(move.line, owner, now);
  }
  if (held == nullptr) {
    return now;
  }
  held->owner = owner;
  held->bytes.assign(move.bytes, move.bytes + line_bytes_);
  ++held_;
  return dram_.write(move.line.at.offset, now);
}

/// A place for a new line. In a full set a committed line goes home. If all are uncommitted, the
/// set overflows, or a transaction is aborted: not one whose commit record is on its way. `now`
/// becomes the time at which there is room. Returns null if the line's own transaction was aborted.
DramCache::Line* Redu::place_for(DesignLine line, int owner, Time& now) {
  DramCache::Line* const crowded = dram_.crowded(line.at.offset);
  if (crowded != nullptr && crowded->owner == DramCache::kCommitted) {
    context().passed(kCrowded);
    now = flush(*crowded, now);
  } else if (crowded != nullptr) {
    const int victim = crowded->owner;
    context().passed(kOverflowed);
    if (!options_.overflow && threads_[static_cast<size_t>(victim)].recorded == 0) {
      context().doom(victim, AbortCause::capacity, now);
      if (victim == owner) {
        return nullptr;
      }
    } else {
      ++overflowed_;
    }
  }
  return &dram_.put(line);
}

/// The line has words of a committed transaction, and waits for its way home.
void Redu::commits(DramCache::Line& line, uint64_t first_slot) {
  std::vector<uint64_t>& all = line.transactions;
  if (all.empty()) {
    queue_.push_back(line.line.at.offset);
  }
  if (std::find(all.begin(), all.end(), first_slot) == all.end()) {
    all.push_back(first_slot);
    ++retiring_[first_slot];
  }
}

// ---- the way home

/// Sends a committed line home. Returns the time at which memory accepts it.
Time Redu::flush(DramCache::Line& line, Time now) {
  const Place home = line.line.at;
  const Time read = dram_.read(home.offset, now);
  const Time accepted = context().write(home, line.bytes.data(), Cause::data, read).accepted;
  const bool release = options_.printed == ReduOptions::Printed::release;
  flushed_.push_back({release ? now : accepted, std::move(line.transactions)});
  dram_.erase(home.offset);
  ++home_;
  context().passed(kWentHome);
  context().wake_at(accepted);
  return accepted;
}

/// Keeps some lines on their way home: always, or with `lazy` only if the log gets short.
void Redu::flush_some(bool at_once, Time now) {
  const bool goes = at_once || !options_.lazy || log_.slots().free() < log_.slots().slots() / 2;
  while (goes && !queue_.empty() && flushed_.size() < options_.flush_lines) {
    DramCache::Line* const line = dram_.find(queue_.front());
    queue_.pop_front();
    if (line != nullptr && line->owner == DramCache::kCommitted) {
      flush(*line, now);
    }
  }
}

/// Counts the lines that are home by now. Transactions retire in the order of the log.
void Redu::retire(Time now) {
  std::erase_if(flushed_, [&](const Flushed& line) {
    if (line.home > now) {
      return false;
    }
    for (const uint64_t first_slot : line.transactions) {
      --retiring_.at(first_slot);
    }
    return true;
  });
  while (!retiring_.empty() && retiring_.begin()->second == 0) {
    retiring_.erase(retiring_.begin());
  }
}

/// The first slot of the log that recovery would need.
uint64_t Redu::oldest_slot() const {
  uint64_t oldest = log_.slots().head();
  if (!retiring_.empty()) {
    oldest = std::min(oldest, retiring_.begin()->first);
  }
  for (const Thread& thread : threads_) {
    if (thread.open && thread.slices != 0) {
      oldest = std::min(oldest, thread.first_slot);
    }
  }
  return oldest;
}

/// Moves the log's tail if that frees a quarter of it, or anything. The slots are free when the
/// tail is accepted.
void Redu::move_tail(bool at_once, Time now) {
  OwnLog& slots = log_.slots();
  if (tail_due_ > now) {
    return;
  }
  if (std::exchange(tail_due_, 0) != 0) {
    slots.free_before(new_tail_);
    std::erase_if(logged_, [&](const auto& line) { return line.second < new_tail_; });
    context().passed(kFreed);
  }
  const uint64_t oldest = oldest_slot();
  const uint64_t least = at_once ? 1 : std::max<uint64_t>(1, slots.slots() / 4);
  if (oldest - slots.tail() >= least) {
    new_tail_ = oldest;
    tail_due_ = slots.write_tail(oldest, now);
    ++tails_;
  }
}

/// Does what is due in the background, and with `at_once` all that can be done. Returns the time at
/// which there is more to do, and wakes then; kNever if that depends on transactions.
Time Redu::step(bool at_once, Time now) {
  retire(now);
  flush_some(at_once, now);
  move_tail(at_once, now);
  Time next = tail_due_ != 0 ? tail_due_ : kNever;
  for (const Flushed& line : flushed_) {
    next = std::min(next, line.home);
  }
  if (next != kNever) {
    context().wake_at(std::max(now + 1, next));
  }
  return next;
}

/// Returns `now` if the log has room for a slot. Else returns the time at which to ask again, or
/// aborts the transaction of this slot.
Time Redu::log_room(int slot, Time now) {
  OwnLog& slots = log_.slots();
  if (const Time ready = slots.ready(now); ready > now) {
    return ready;
  }
  if (slots.free() > reserved_slots_) {
    return now;
  }
  const Time next = step(true, now);
  if (slots.free() > reserved_slots_) {
    return now;
  }
  if (next != kNever) {
    return std::max(now + 1, next);
  }
  if (!options_.overflow) {
    context().doom(slot, AbortCause::capacity, now);
    return now;
  }
  throw Error(Status(Code::out_of_space,
                     "hardware design redu: open transactions fill the log; give it more room "
                     "(option region)"));
}

void Redu::tick(Time now) {
  step(false, now);
}

Time Redu::settle(Time now) {
  for (Time next = step(true, now); next != kNever; next = step(true, now)) {
    now = std::max(now + 1, next);
  }
  return now;
}

}  // namespace holdfast
