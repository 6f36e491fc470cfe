// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/picl/picl.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "holdfast/base/random.h"

namespace holdfast {

std::span<const char* const> Picl::transitions() const {
  static constexpr const char* kNames[] = {"an epoch ended",
                                           "a full buffer went to the log",
                                           "an eviction sent the buffer to the log",
                                           "a scan wrote a line home",
                                           "an epoch was persisted",
                                           "the log was shortened",
                                           "a transaction was aborted"};
  return kNames;
}

size_t Picl::Filter::at(uint64_t home) const {
  return mix64(home) % bits_.size();
}

/// The latest epoch with this tag. No line keeps the tag of an older one.
uint64_t Picl::epoch_of(uint8_t tag) const {
  return running_ - (tag_of(running_) + kTags - tag) % kTags;
}

// ---- transactions

/// While the running epoch waits for its end, transactions wait for the next one.
Time Picl::begin(const DesignTransaction& tx, Time now) {
  if (ending_ && open_ > 0 && scan_.step == Step::none &&
      options_.printed != PiclOptions::Printed::anywhere) {
    ++waited_;
    return now + poll_;
  }
  ++open_;
  stored_[static_cast<size_t>(tx.slot)].clear();
  return now;
}

Time Picl::commit(const DesignTransaction& tx, Time now) {
  left(tx, now);
  return now;
}

/// The lines that are rewritten may have been to memory, and have lost their tags there. The log
/// has their bytes from before this epoch.
Time Picl::abort(const DesignTransaction& tx, Time now) {
  const Time done = HardwareDesign::abort(tx, now);
  for (const uint32_t line : stored_[static_cast<size_t>(tx.slot)]) {
    if (context().flags(line) != tag_of(running_)) {
      context().set_flags(line, tag_of(running_));
    }
  }
  context().passed(kAborted);
  left(tx, done);
  return done;
}

void Picl::left(const DesignTransaction& tx, Time now) {
  stored_[static_cast<size_t>(tx.slot)].clear();
  --open_;
  try_end(now);
}

// ---- stores and the undo buffer

Time Picl::first_store(const DesignStore& store, Time now) {
  if (const Time ready = log(store, now); ready > now) {
    return ready;
  }
  stored_[static_cast<size_t>(store.tx.slot)].push_back(store.line.line);
  return now;
}

Time Picl::log(const DesignStore& store, Time now) {
  if (store.flags == tag_of(running_)) {
    return now;
  }
  if (const Time ready = make_room(now); ready > now) {
    return ready;
  }
  const uint64_t from = store.flags == 0 ? persisted_ : epoch_of(store.flags);
  const uint64_t home = store.line.at.offset;
  buffer_.push_back({home, from, running_, {store.before, store.before + context().line_bytes()}});
  filter_.add(home);
  context().set_flags(store.line.line, tag_of(running_));
  ++logged_;
  return now;
}

/// Returns `now` if the buffer has room for an entry, else the time at which to ask again.
Time Picl::make_room(Time now) {
  const bool full = buffer_.size() == options_.entries;
  if (durable_ > now && (full || options_.buffers == 1)) {
    return durable_;  // a block is on its way from the other buffer, or from the only one
  }
  if (!full) {
    return now;
  }
  context().passed(kFull);
  const Time written = flush(now);
  return options_.buffers == 1 ? written : now;
}

/// Writes the buffer to the log, behind the blocks before. Returns the time at which PM has all
/// blocks.
Time Picl::flush(Time now) {
  if (buffer_.empty()) {
    return std::max(now, durable_);
  }
  const Time start = log_.ready(std::max(now, durable_));
  if (log_.free() == 0) {
    throw Error(Status(Code::out_of_space, "the log of hardware design picl is full"));
  }
  const uint64_t slot = log_.take();
  const size_t headers = header_lines(buffer_.size());
  const std::vector<std::byte> header = header_of(slot);
  Time accepted = start;
  for (size_t i = 0; i < buffer_.size(); ++i) {
    const size_t index = header_lines(options_.entries) + i;
    accepted = std::max(accepted, log_.write(slot, index, buffer_[i].bytes.data(), start));
  }
  for (size_t i = headers; i > 0; --i) {
    // The first line says that the block is there.
    const bool last = i == 1 && options_.printed != PiclOptions::Printed::burst;
    const std::byte* bytes = header.data() + (i - 1) * context().line_bytes();
    accepted = std::max(accepted, log_.write(slot, i - 1, bytes, last ? accepted : start));
  }
  durable_ = accepted;
  blocks_.push_back({slot, buffer_.back().till});
  buffer_.clear();
  std::swap(filter_, flushing_);
  filter_.clear();
  ++flushes_;
  return durable_;
}

/// The design writes the line itself, because it may have to wait for the line's entry of the log,
/// and because an epoch is persisted only when memory has accepted all lines.
MemoryWrite Picl::memory_write(const LineMove& move, Time now) {
  Time start = now;
  if (filter_.has(move.line.at.offset)) {
    start = flush(now);
    ++hits_;
    context().passed(kEvictionFlushed);
  } else if (flushing_.has(move.line.at.offset)) {
    start = std::max(now, durable_);
  }
  const Cause cause = scanning_ ? Cause::data : Cause::write_back;
  const Time accepted = context().write(move.line.at, move.bytes, cause, start).accepted;
  home_ = std::max(home_, accepted);
  return {false, accepted};
}

// ---- epochs

void Picl::tick(Time now) {
  while (context().instructions() >= end_at_) {
    ending_ = true;
    end_at_ += options_.epoch_instructions;
  }
  if (!scanning_) {
    scan(now);
    try_end(now);
  }
}

void Picl::try_end(Time now) {
  const bool may_end = open_ == 0 || options_.printed == PiclOptions::Printed::anywhere;
  if (ending_ && may_end && scan_.step == Step::none) {
    end_epoch(now);
  }
}

void Picl::end_epoch(Time now) {
  ending_ = false;
  ++running_;
  ++ended_;
  context().epoch_ended();
  context().passed(kEnded);
  if (running_ > persisted_ + options_.gap) {
    begin_scan(running_ - options_.gap, now);
  }
}

// ---- scans

void Picl::begin_scan(uint64_t epoch, Time now) {
  scan_ = {.step = Step::lines, .epoch = epoch, .lines = {}, .next = 0, .ready = now};
  find_lines();
  scan(now);
}

/// Finds the lines of the scan's epoch in the caches, and on their way between them.
void Picl::find_lines() {
  scan_.lines.clear();
  scan_.next = 0;
  context().for_each_cached([&](const CachedLine& cached) {
    if (cached.flags == tag_of(scan_.epoch) &&
        (cached.dirty || options_.printed != PiclOptions::Printed::tags)) {
      scan_.lines.push_back(cached.line.line);
    }
  });
  std::sort(scan_.lines.begin(), scan_.lines.end());
  const auto last = std::unique(scan_.lines.begin(), scan_.lines.end());
  scan_.lines.erase(last, scan_.lines.end());
}

/// Takes the steps of the scan that are due.
void Picl::scan(Time now) {
  while (scan_.step != Step::none && scan_.ready <= now) {
    switch (scan_.step) {
      case Step::lines:
        scan_.ready = scan_lines(now);
        if (scan_.next == scan_.lines.size()) {
          finish_lines(now);
        }
        break;
      case Step::log: {
        std::vector<std::byte> line(context().line_bytes());
        std::memcpy(line.data(), &scan_.epoch, sizeof(scan_.epoch));
        scan_.ready = context().write({Space::own, 0}, line.data(), Cause::table, now).accepted;
        scan_.step = Step::number;
        break;
      }
      case Step::number:
        persisted_ = scan_.epoch;
        scan_.step = Step::none;
        context().passed(kPersisted);
        shorten_log(now);
        break;
      case Step::none:
        break;
    }
  }
  if (scan_.step != Step::none) {
    context().wake_at(scan_.ready);
  }
}

/// The scan has visited all lines. Those that were on their way between caches then are left.
void Picl::finish_lines(Time now) {
  find_lines();
  if (!scan_.lines.empty()) {
    scan_.ready = std::max(scan_.ready, now + poll_);
    return;
  }
  // The buffer has bytes of the epoch that newer ones have superseded.
  scan_.ready = std::max({scan_.ready, flush(now), home_});
  scan_.step = Step::log;
}

/// Writes some of the scan's lines home: as many as the controller's queue holds. A line with
/// another tag has been stored to since; its bytes of the epoch are in the buffer or in the log.
/// Returns the time at which the controller has accepted them.
Time Picl::scan_lines(Time now) {
  const auto most = static_cast<size_t>(std::max(1, context().machine().medium.write_queue));
  const size_t end = std::min(scan_.next + most, scan_.lines.size());
  Time done = now;
  for (; scan_.next < end; ++scan_.next) {
    const uint32_t line = scan_.lines[scan_.next];
    if (context().flags(line) != tag_of(scan_.epoch)) {
      continue;
    }
    scanning_ = true;
    done = std::max(done, context().write_back(line, now));
    scanning_ = false;
    ++scanned_;
    context().passed(kScanned);
    if (options_.printed != PiclOptions::Printed::tags) {
      context().set_flags(line, 0);
    }
  }
  return done;
}

/// Frees the blocks whose entries are all of older epochs.
void Picl::shorten_log(Time now) {
  uint64_t tail = log_.tail();
  while (!blocks_.empty() && blocks_.front().till <= persisted_) {
    tail = blocks_.front().slot + 1;
    blocks_.pop_front();
  }
  if (tail != log_.tail()) {
    log_.write_tail(tail, now);
    log_.free_before(tail);
    context().passed(kShortened);
  }
}

Time Picl::drain_scan(Time now) {
  while (scan_.step != Step::none) {
    now = std::max(now, scan_.ready);
    scan(now);
  }
  return now;
}

/// Ends so many epochs that the promise covers all that was stored until now.
Time Picl::settle(Time now) {
  now = drain_scan(now);
  for (uint64_t i = 0; i <= options_.gap; ++i) {
    end_epoch(now);
    now = drain_scan(now);
  }
  return now;
}

std::vector<std::pair<const char*, uint64_t>> Picl::counters() const {
  return {{"epochs", ended_}, {"persisted", persisted_}, {"logged", logged_}, {"flushes", flushes_},
          {"hits", hits_},    {"scanned", scanned_},     {"waited", waited_}};
}

}  // namespace holdfast
