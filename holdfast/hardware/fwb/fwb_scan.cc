// SPDX-License-Identifier: Apache-2.0
//
// The part of Fwb for the scans of the caches, which bound the log.
//
// A line that a scan finds dirty is marked. The next scan writes back the marked lines that are
// still dirty. A record from before a scan has its line dirty, on its way home, or at home when the
// scan looks. So when the next scan is done, and all lines on their way are accepted, the line is
// at home. The record is of no use then, unless its transaction is open.
//
// The marks are bits of the lines in hardware. They are kept aside here, because of two copies of a
// line, the cache may know only the newer one.
#include <algorithm>

#include "holdfast/hardware/fwb/fwb.h"

namespace holdfast {

/// The slots before this one get no more records, and the stores of their records have reached L1.
/// The store of the latest record may not have: a scan may come between.
uint64_t Fwb::covered_end() const {
  return std::min(open_line_has_room() ? open_.slot : log_.head(), last_word_);
}

/// Makes sure that a scan comes: after the period, or at once if a quarter of the log was filled
/// since the last one has begun. A record is free after two more scans.
void Fwb::schedule(Time now) {
  if (scan_ != Scan::idle) {
    return;
  }
  const bool early = options_.printed != FwbOptions::Printed::wrap;
  if (early && log_.head() - scan_begin_ >= log_.slots() / 4) {
    due_ = now;
  } else if (!scheduled_) {
    due_ = now + context().cycles(options_.scan_cycles);
  }
  scheduled_ = true;
  context().wake_at(due_);
}

void Fwb::tick(Time now) {
  if (scheduled_ && due_ > now) {
    context().wake_at(due_);
    return;
  }
  switch (scan_) {
    case Scan::idle:
      if (scheduled_) {
        begin_scan(now);
      }
      break;
    case Scan::writing:
      write_marked(now);
      break;
    case Scan::freeing:
      free_log(now);
      break;
  }
}

void Fwb::begin_scan(Time now) {
  ++scans_;
  scheduled_ = true;
  last_begin_ = scan_begin_;
  scan_begin_ = covered_end();
  std::unordered_set<uint32_t> dirty;
  context().for_each_cached([&](const CachedLine& cached) {
    if (cached.dirty && dirty.insert(cached.line.line).second &&
        marked_.contains(cached.line.line)) {
      to_write_.push_back(cached.line.line);
    }
  });
  marked_ = std::move(dirty);
  scan_ = Scan::writing;
  write_marked(now);
}

/// Writes some of the lines back, so that other requests come between.
void Fwb::write_marked(Time now) {
  due_ = now;
  for (size_t n = 0; n < options_.scan_lines && !to_write_.empty(); ++n) {
    const uint32_t line = to_write_.back();
    to_write_.pop_back();
    if (marked_.contains(line)) {  // else it has gone home meanwhile
      due_ = std::max(due_, context().write_back(line, now));
      ++forced_;
      context().passed(kForced);
    }
  }
  if (to_write_.empty()) {
    due_ = std::max(due_, home_);
    scan_ = Scan::freeing;
    next_tail_ = log_.tail();
  }
  due_ = std::max(due_, now + 1);
  context().wake_at(due_);
}

/// All lines that this scan and evictions have sent home are accepted. Moves the tail, in two
/// steps: its write, and its acceptance.
void Fwb::free_log(Time now) {
  if (home_ > now) {
    due_ = home_;
    context().wake_at(due_);
    return;
  }
  if (next_tail_ != log_.tail()) {
    move_tail(next_tail_);
    context().passed(kFreed);
  } else if (const uint64_t tail = std::min(last_begin_, oldest_open(now)); tail > log_.tail()) {
    next_tail_ = tail;
    due_ = std::max(now + 1, log_.write_tail(tail, now));
    context().wake_at(due_);
    return;
  }
  scan_ = Scan::idle;
  scheduled_ = false;
  if (!marked_.empty() || covered_end() > log_.tail()) {
    schedule(now);
  }
}

/// The slots before this one are free.
void Fwb::move_tail(uint64_t tail) {
  log_.free_before(tail);
  std::erase_if(recorded_, [tail](const auto& line) { return line.second.slot < tail; });
}

/// Empties the log: all lines of which it has records go home.
Time Fwb::settle(Time now) {
  if (log_.tail() == log_.head()) {
    return now;
  }
  send(now);
  std::vector<uint32_t> lines;
  for (const auto& [line, recorded] : recorded_) {
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  Time done = now;
  for (const uint32_t line : lines) {
    done = std::max(done, context().write_back(line, now));
  }
  done = std::max({done, logged_, home_});
  done = std::max(done, log_.write_tail(log_.head(), done));
  move_tail(log_.head());
  open_.used = open_.sent = 0;
  scan_begin_ = last_begin_ = log_.head();
  last_word_ = ~uint64_t{0};
  scan_ = Scan::idle;
  scheduled_ = false;
  to_write_.clear();
  marked_.clear();
  return done;
}

}  // namespace holdfast
