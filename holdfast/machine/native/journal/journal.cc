// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/journal/journal.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "holdfast/machine/native/support/spin.h"

namespace holdfast::native {
namespace {

// A group's most bytes. A longer one amortises no more of a sync, but has fewer copies of lines
// that are stored to again and again.
constexpr uint64_t kMostGroupBytes = uint64_t{4} << 20;
// The bytes that flush_in_background() waits for. Writing them takes about as long as a sync, so
// smaller groups would waste the device.
constexpr uint64_t kFlushBytes = uint64_t{256} << 10;
// Looks at the device before a waiting thread sleeps, if the last group took less than kQuick. Some
// microseconds: about what the sleep and the wake-up cost. On a slower device they are only taken
// from other threads.
constexpr int kSpins = 100;
constexpr std::chrono::microseconds kQuick{20};

// The cache of lines has one for this many bytes of the ring, so it takes half as much memory as
// the ring has bytes.
constexpr uint64_t kRingBytesPerCached = 144;

uint64_t most_group_bytes(uint64_t ring_bytes) {
  return std::min(kMostGroupBytes, ring_bytes / 4 / kJournalBlock * kJournalBlock);
}

}  // namespace

Journal::Journal(JournalFile& file, const JournalPlace& place, CopyLine copy,
                 PageChecksums* checksums)
    : copy_(copy),
      checksums_(checksums),
      ring_(file, place),
      groups_{GroupBuilder(most_group_bytes(JournalPlace::kLeastBytes)),
              GroupBuilder(most_group_bytes(JournalPlace::kLeastBytes))} {}

Status Journal::format(JournalFile& file, const JournalPlace& place, uint64_t salt, uint64_t bytes,
                       bool changes) {
  const uint64_t first = bytes != 0 ? std::min(bytes, place.bytes) : place.bytes;
  if (first < JournalPlace::kLeastBytes || first % kJournalBlock != 0 ||
      place.bytes % kJournalBlock != 0) {
    return {Code::invalid_argument, "a journal has whole pages, and at least " +
                                        std::to_string(JournalPlace::kLeastBytes) + " bytes"};
  }
  return JournalRing(file, place).format(salt, first, changes);
}

Result<std::unique_ptr<Journal>> Journal::open(JournalFile& file, const JournalPlace& place,
                                               uint64_t salt, CopyLine copy,
                                               PageChecksums* checksums) {
  std::unique_ptr<Journal> journal(new Journal(file, place, copy, checksums));
  if (Status status = journal->recover(salt); !status.ok()) {
    return status;
  }
  return journal;
}

Status Journal::recover(uint64_t salt) {
  if (Status status = ring_.read_head(); !status.ok()) {
    return status;
  }
  changes_ = ring_.has_changes();
  table_stale_ = (ring_.head().flags & JournalHead::kStaleTable) != 0;
  limit_groups();
  Result<JournalTail> found = read_tail(ring_);
  if (!found) {
    return found.status();
  }
  recovered_ = std::make_unique<RecoveredLines>();
  const JournalTail* const tail = &(recovered_->tail = std::move(*found));
  if ((ring_.head().flags & JournalHead::kClosed) == 0) {
    if (Status status = check_not_damaged(ring_, *tail); !status.ok()) {
      return status;
    }
  }
  auto lines = newest_lines(*tail, place());
  if (!lines) {
    return lines.status();
  }
  recovered_->lines = std::move(*lines);
  if (Status status = make_durable(*tail); !status.ok()) {
    return status;
  }
  tail_ = ring_.head().tail;
  tail_number_ = ring_.head().number;
  written_ = {tail->end, tail->number, tail->position};
  gathering_number_ = tail->number;
  waits_.begin(tail->number - 1, tail->position);
  for (const JournalLine& line : recovered_->lines) {
    count_line(line.offset, tail->number - 1);
  }
  end_.store(tail->position, std::memory_order_release);
  durable_.store(tail->position, std::memory_order_release);
  counters_.recovered_groups = tail->groups;
  counters_.recovered_lines = tail->lines;
  torn_ = tail->groups != 0;
  if (tail->groups != 0) {
    // The groups count until they are home, so their salt does. A group that was torn has the next
    // number. None with a later number was written, so a group of this salt cannot be stale.
    salt_ = ring_.head().salt;
    return {};
  }
  salt_ = salt;
  JournalHead head{};
  head.salt = salt;
  head.tail = tail->end;
  head.number = tail->number;
  head.position = tail->position;
  const Status status = ring_.write_head(head);
  // Both copies. With the former salt in one of them, damage of the other one would hide all groups
  // before the first checkpoint.
  return status.ok() ? ring_.write_head(head) : status;
}

/// After a killed process or a failed sync the groups and the newest head may come from a cache.
/// Groups must be durable before a reader sees their lines, and the head before the other one is
/// overwritten. After a failed write-back Linux keeps the new content in the cache and counts it as
/// clean, so a sync alone would not write it. Each group was durable before the next one was
/// written, so only the last one can be missing on the medium.
Status Journal::make_durable(const JournalTail& tail) {
  Status status = ring_.rewrite_head();
  if (status.ok() && tail.groups != 0) {
    const auto last = std::span(tail.bytes).subspan(tail.last);
    status = ring_.write(tail.end - last.size(), last);
  }
  return status.ok() ? ring_.file().sync() : status;
}

/// Forgets all lines. The cache's size follows the length of the ring.
void Journal::renew_cache() {
  cache_ = std::make_unique<LineCache>(ring_.bytes() / kRingBytesPerCached);
}

/// Groups, the cache of lines and counters follow the length of the ring.
void Journal::limit_groups() {
  renew_cache();
  counters_.ring_bytes = ring_.bytes();
  for (GroupBuilder& group : groups_) {
    group.extend(most_group_bytes(ring_.bytes()));
  }
}

void Journal::throw_if_failed() const {
  if (!failure_.ok()) {
    throw MediumFailure(failure_);
  }
}

/// The first failure is final. Wakes all waiting threads. Under the mutex.
void Journal::fail(Status status) {
  if (failure_.ok()) {
    failure_ = std::move(status);
  }
  waits_.end();
  waits_.wake_all();
  for (std::condition_variable* one :
       {&flush_wanted_, &checkpoint_wanted_, &group_freed_, &tail_moved_}) {
    one->notify_all();
  }
}

uint64_t Journal::append(std::span<const LineRun> runs) {
  Lock lock(mutex_);
  throw_if_failed();
  for (const LineRun& run : runs) {
    for (uint64_t i = 0; i < run.lines; ++i) {
      if (gathered().empty()) {
        gathers_since_ = Clock::now();
        if (most_age_.count() != 0) {
          flush_wanted_.notify_one();
        }
      }
      copy_(place_line(lock, run.offset + i * kLineBytes), run.memory + i * kLineBytes);
      // Release: pairs with position().
      end_.store(end_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
  }
  if (flushes_ && !device_taken_ && gathered().bytes() >= kFlushBytes) {
    flush_wanted_.notify_one();
  }
  return end_.load(std::memory_order_relaxed);
}

/// Returns the place for a line in the group that gathers.
std::byte* Journal::place_line(Lock& lock, uint64_t offset) {
  for (;;) {
    // Before the group has the line: this may throw, and no group may have a line behind end_.
    count_line(offset, gathering_number_);
    if (std::byte* const to = gathered().place(offset); to != nullptr) {
      return to;
    }
    // The lines of a fence have no order among themselves, so others may come in between.
    make_group_room(lock);
  }
}

/// The page has a line in the group with this number, which is not older than any group so far. A
/// line that is left out of its group, because nothing has changed, counts as well.
void Journal::count_line(uint64_t offset, uint64_t number) {
  if (numbers_.set(offset, number) < tail_number_) {
    held_pages_.push_back(offset / kPageBytes * kPageBytes);
  }
}

/// The group is full. Lets the background write it, or does so.
void Journal::make_group_room(Lock& lock) {
  if (flushes_) {
    flush_wanted_.notify_one();
    group_freed_.wait(lock, [&] { return !failure_.ok() || !flushes_ || !gathered().full(); });
    throw_if_failed();
  } else if (device_taken_) {
    wait_for_device(lock);
  } else {
    flush(lock);
    lock.lock();
  }
}

/// Returns, with the lock, when the device is free.
void Journal::wait_for_device(Lock& lock) {
  while (device_taken_) {
    const GroupWaits::Ticket ticket = waits_.ticket(0);  // of the group that has it
    lock.unlock();
    waits_.wait(ticket);
    lock.lock();
  }
  throw_if_failed();
}

void Journal::await(uint64_t position) {
  int spins = 0;
  while (durable() < position) {
    const GroupWaits::Ticket ticket = waits_.ticket(position);
    if (!device_taken_) {
      Lock lock(mutex_);
      throw_if_failed();
      if (!device_taken_ && durable() < position) {
        flush(lock);
      }
    } else if (spins < kSpins && quick_.load(std::memory_order_relaxed)) {
      ++spins;
      pause();
    } else {
      waits_.wait(ticket);
    }
  }
}

/// Writes the gathered lines as one group, durably. The device is free. Returns without the lock.
/// Throws MediumFailure.
void Journal::flush(Lock& lock) {
  GroupBuilder& group = gathered();
  const uint64_t end = end_.load(std::memory_order_relaxed);
  GroupHead head{};
  head.number = written_.number;
  head.begin = written_.position;
  head.end = end;
  head.durable = durable();
  gathering_ = 1 - gathering_;
  gathering_number_ = head.number + 1;
  group_freed_.notify_all();
  waits_.begin(head.number, end);
  device_taken_ = true;
  lock.unlock();
  const Clock::time_point begin = Clock::now();
  Status status;
  try {
    status = write_group(group, head);
  } catch (const std::exception& failure) {  // no memory; part of the work may be done
    status =
        Status(Code::io_error, std::string("the journal cannot be written: ") + failure.what());
  }
  if (status.ok()) {
    group.clear();
    quick_.store(Clock::now() - begin < kQuick, std::memory_order_relaxed);
    // Release: a thread that sees the position may answer for what it covers.
    durable_.store(end, std::memory_order_release);
  }
  lock.lock();
  device_taken_ = false;
  if (!status.ok()) {
    fail(std::move(status));
    throw_if_failed();
  }
  waits_.end();  // behind the store to the flag; see Futex
  // A thread that found the device taken waits without a time limit.
  if (flushes_ && !gathered().empty() && (most_age_.count() != 0 || is_flush_due())) {
    flush_wanted_.notify_one();
  }
  lock.unlock();
  waits_.wake(head.number);  // takes longer than the next thread should wait for the lock
}

/// Only the thread that has taken the device.
Status Journal::write_group(GroupBuilder& group, GroupHead head) {
  if (home_changed_.exchange(false)) {
    renew_cache();
  }
  const auto bytes = group.seal(head, salt_, changes_ ? cache_.get() : nullptr);
  Status status = make_ring_room(bytes.size());
  if (!status.ok()) {
    return status;
  }
  // Only this thread changes written_.
  status = ring_.write_and_sync(written_.at, bytes);
  if (!status.ok()) {
    return status;
  }
  const Lock lock(mutex_);
  written_ = {written_.at + bytes.size(), head.number + 1, head.end};
  ++counters_.groups;
  counters_.lines += head.end - head.begin;
  counters_.group_bytes += bytes.size();
  if (checkpoints_ && due()) {
    checkpoint_wanted_.notify_one();
  }
  return {};
}

bool Journal::ring_has_room(uint64_t bytes) const {
  return written_.at - tail_ + bytes <= ring_.bytes();
}

/// Makes the ring longer, waits for a checkpoint, or makes one, if the ring has no room for these
/// bytes.
Status Journal::make_ring_room(uint64_t bytes) {
  Lock lock(mutex_);
  for (;;) {
    Status status = grow_ring(lock);
    if (!status.ok() || ring_has_room(bytes)) {
      return status;
    }
    if (head_taken_) {
      tail_moved_.wait(lock);
    } else if (!make_longer(lock) && failure_.ok()) {
      static_cast<void>(bring_home(lock, false));  // failure_ has a failure
    }
    if (!failure_.ok()) {
      return failure_;
    }
  }
}

bool Journal::is_flush_due() const {
  const GroupBuilder& group = groups_[gathering_];
  const bool old = most_age_.count() != 0 && Clock::now() >= gathers_since_ + most_age_;
  return !group.empty() && (old || group.bytes() >= kFlushBytes || group.full());
}

void Journal::flush_in_background() {
  Lock lock(mutex_);
  flushes_ = true;
  while (!stopped_ && failure_.ok()) {
    if (device_taken_ || gathered().empty()) {
      flush_wanted_.wait(lock);
    } else if (is_flush_due()) {
      try {
        flush(lock);
        lock.lock();
      } catch (const MediumFailure&) {  // failure_ has it, and every later call throws it
        break;
      }
    } else if (most_age_.count() != 0) {
      flush_wanted_.wait_until(lock, gathers_since_ + most_age_);
    } else {
      flush_wanted_.wait(lock);
    }
  }
  flushes_ = false;
  group_freed_.notify_all();
}

void Journal::stop() {
  const Lock lock(mutex_);
  stopped_ = true;
  flush_wanted_.notify_all();
  checkpoint_wanted_.notify_all();
}

void Journal::limit_age(std::chrono::milliseconds age) {
  const Lock lock(mutex_);
  most_age_ = age;
  flush_wanted_.notify_all();
}

JournalCounters Journal::counters() const {
  const Lock lock(mutex_);
  JournalCounters now = counters_;
  now.held_bytes = written_.at - tail_;
  return now;
}

}  // namespace holdfast::native
