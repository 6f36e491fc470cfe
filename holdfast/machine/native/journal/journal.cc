// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/journal/journal.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "holdfast/machine/native/support/spin.h"

namespace holdfast::native {
namespace {

// A group's most bytes. A longer one amortises no more: a sync costs as much as some dozens of KiB.
constexpr uint64_t kMostGroupBytes = uint64_t{1} << 20;
// Looks at the device before a waiting thread sleeps. Some microseconds: about what the sleep and
// the wake-up cost, and little beside a sync.
constexpr int kSpins = 100;

uint64_t most_group_bytes(const JournalPlace& place) {
  return std::min(kMostGroupBytes, place.ring_bytes() / 4 / kJournalBlock * kJournalBlock);
}

}  // namespace

Journal::Journal(JournalFile& file, const JournalPlace& place, CopyLine copy)
    : copy_(copy),
      groups_{GroupBuilder(most_group_bytes(place)), GroupBuilder(most_group_bytes(place))},
      ring_(file, place) {
  counters_.ring_bytes = place.ring_bytes();
}

Status Journal::format(JournalFile& file, const JournalPlace& place, uint64_t salt) {
  if (place.bytes < JournalPlace::kLeastBytes || place.bytes % kJournalBlock != 0) {
    return {Code::invalid_argument, "a journal has whole pages, and at least " +
                                        std::to_string(JournalPlace::kLeastBytes) + " bytes"};
  }
  return JournalRing(file, place).format(salt);
}

Result<std::unique_ptr<Journal>> Journal::open(JournalFile& file, const JournalPlace& place,
                                               uint64_t salt, CopyLine copy) {
  std::unique_ptr<Journal> journal(new Journal(file, place, copy));
  if (Status status = journal->recover(salt); !status.ok()) {
    return status;
  }
  return journal;
}

Status Journal::recover(uint64_t salt) {
  if (Status status = ring_.read_head(); !status.ok()) {
    return status;
  }
  Result<JournalTail> tail = read_tail(ring_);
  if (!tail) {
    return tail.status();
  }
  if ((ring_.head().flags & JournalHead::kClosed) == 0) {
    if (Status status = check_not_damaged(ring_, *tail); !status.ok()) {
      return status;
    }
  }
  auto lines = newest_lines(*tail, place());
  if (!lines) {
    return lines.status();
  }
  Status status = write_home(ring_.file(), *lines);
  if (status.ok()) {
    // Also for an empty journal: after a killed process the newest head may come from a cache, and
    // it must be durable before the other one is overwritten.
    status = ring_.file().sync();
  }
  if (!status.ok()) {
    return status;
  }
  JournalHead head{};
  head.salt = salt;
  head.tail = ring_end_ = tail->end;
  head.number = next_number_ = tail->number;
  head.position = end_ = tail->position;
  durable_.store(end_, std::memory_order_release);
  counters_.recovered_groups = tail->groups;
  counters_.recovered_lines = tail->lines;
  return ring_.write_head(head);
}

void Journal::throw_if_failed() const {
  if (!failure_.ok()) {
    throw MediumFailure(failure_);
  }
}

/// Returns, with the lock, when the device is free.
void Journal::wait_for_device(std::unique_lock<std::mutex>& lock) {
  while (device_taken_) {
    const int round = rounds_.load();
    lock.unlock();
    rounds_.wait(round);
    lock.lock();
  }
  throw_if_failed();
}

/// Calls add(counters) without other threads.
template <class F>
void Journal::count(F&& add) {
  const std::lock_guard lock(counters_mutex_);
  add(counters_);
  counters_.held_bytes = ring_end_ - ring_.head().tail;
}

/// Runs work() without the lock, as the only user of the device, which the caller found free.
/// Throws MediumFailure if it fails.
template <class F>
void Journal::use_device(std::unique_lock<std::mutex>& lock, F&& work) {
  device_taken_ = true;
  lock.unlock();
  Status status;
  try {
    status = work();
  } catch (const std::exception& failure) {  // no memory; part of the work may be done
    status =
        Status(Code::io_error, std::string("the journal cannot be written: ") + failure.what());
  }
  lock.lock();
  if (!status.ok() && failure_.ok()) {
    failure_ = std::move(status);
  }
  device_taken_ = false;
  // Behind the store above, and both sequentially consistent: a thread that has loaded the old
  // round, then the old flag, does not sleep.
  ++rounds_;
  rounds_.notify_all();
  throw_if_failed();
}

uint64_t Journal::append(std::span<const LineRun> runs) {
  std::unique_lock lock(mutex_);
  throw_if_failed();
  for (LineRun run : runs) {
    while (run.lines > 0) {
      GroupBuilder& group = groups_[gathering_];
      const uint64_t n = group.room(run.lines);
      if (n == 0) {
        // The lines of a fence have no order among themselves, so others may come in between.
        device_taken_ ? wait_for_device(lock) : flush(lock);
        continue;
      }
      std::byte* const to = group.add(run.offset, n);
      for (uint64_t i = 0; i < n; ++i) {
        copy_(to + i * kLineBytes, run.memory + i * kLineBytes);
      }
      end_ += n;
      run = {run.offset + n * kLineBytes, run.memory + n * kLineBytes, run.lines - n};
    }
  }
  return end_;
}

uint64_t Journal::position() {
  const std::lock_guard lock(mutex_);
  return end_;
}

void Journal::await(uint64_t position) {
  int spins = 0;
  while (durable() < position) {
    const int round = rounds_.load();
    if (!device_taken_) {
      std::unique_lock lock(mutex_);
      throw_if_failed();
      if (!device_taken_ && durable() < position) {
        flush(lock);
      }
    } else if (spins < kSpins) {
      ++spins;
      pause();
    } else {
      rounds_.wait(round);
    }
  }
}

/// Writes the gathered lines as one group, durably. The device is free.
void Journal::flush(std::unique_lock<std::mutex>& lock) {
  GroupBuilder& group = groups_[gathering_];
  const uint64_t end = end_;
  GroupHead head{};
  head.begin = end - group.lines();
  head.end = end;
  head.durable = durable();
  gathering_ = 1 - gathering_;
  use_device(lock, [&] {
    Status status = write_group(group, head);
    if (status.ok()) {
      group.clear();
      // Release: a thread that sees the position may answer for what it covers.
      durable_.store(end, std::memory_order_release);
    }
    return status;
  });
}

Status Journal::write_group(GroupBuilder& group, GroupHead head) {
  head.number = next_number_;
  const auto bytes = group.seal(head, ring_.head().salt);
  if (ring_end_ - ring_.head().tail + bytes.size() > ring_.bytes()) {
    if (Status status = write_durable_home(false); !status.ok()) {
      return status;
    }
  }
  Status status = ring_.write(ring_end_, bytes);
  if (status.ok()) {
    status = ring_.file().sync();
  }
  if (status.ok()) {
    ring_end_ += bytes.size();
    ++next_number_;
    count([&](JournalCounters& c) {
      ++c.groups;
      c.lines += head.end - head.begin;
      c.group_bytes += bytes.size();
    });
  }
  return status;
}

/// The checkpoint: writes all durable groups home, durably, then moves the tail behind them.
Status Journal::write_durable_home(bool closing) {
  const bool closed = (ring_.head().flags & JournalHead::kClosed) != 0;
  const bool empty = ring_end_ == ring_.head().tail;
  if (empty && (closed || !closing)) {
    return {};
  }
  Result<JournalTail> tail = read_tail(ring_);
  if (!tail) {
    return tail.status();
  }
  if (tail->end != ring_end_ || tail->number != next_number_) {
    return {Code::corrupt,
            "the journal has lost group " + std::to_string(tail->number) + ", which was durable"};
  }
  auto lines = newest_lines(*tail, place());
  if (!lines) {
    return lines.status();
  }
  Status status = write_home(ring_.file(), *lines);
  if (status.ok()) {
    status = ring_.file().sync();  // before the tail moves: until then the journal has the lines
  }
  if (!status.ok()) {
    return status;
  }
  JournalHead head{};
  head.salt = ring_.head().salt;
  head.tail = ring_end_;
  head.number = next_number_;
  head.position = tail->position;
  head.flags = closing ? JournalHead::kClosed : 0;
  status = ring_.write_head(head);
  if (status.ok()) {
    count([&](JournalCounters& c) {
      ++c.checkpoints;
      c.home_lines += lines->size();
    });
  }
  return status;
}

void Journal::checkpoint(bool closing) {
  await(position());
  std::unique_lock lock(mutex_);
  wait_for_device(lock);
  use_device(lock, [&] { return write_durable_home(closing); });
}

JournalCounters Journal::counters() const {
  const std::lock_guard lock(counters_mutex_);
  return counters_;
}

}  // namespace holdfast::native
