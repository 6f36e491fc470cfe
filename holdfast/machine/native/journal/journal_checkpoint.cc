// SPDX-License-Identifier: Apache-2.0
//
// The part of Journal that empties the ring, makes it longer, and tells which pages are home.
#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "holdfast/machine/native/journal/journal.h"

namespace holdfast::native {
namespace {

// A checkpoint is also due when this many times the ring's bytes are in pages that have lines in
// the journal: such a page is a private copy in memory. Without it a line could keep a page, and a
// ring 57 times its size. It must be much more than 1, since pages that many lines share go home
// once.
constexpr uint64_t kMostHeldShare = 8;

/// The bytes in the ring at which checkpoint_in_background() begins. The rest of the ring takes
/// what is written meanwhile.
uint64_t full_enough(const JournalRing& ring) {
  return ring.bytes() / 4 * 3;
}

}  // namespace

/// Under the mutex.
bool Journal::due() const {
  const uint64_t bytes = written_.at - tail_;
  // The pages may all have lines in the group that gathers. So the ring must have some, too.
  const bool scattered = held_pages_.size() * kPageBytes >= kMostHeldShare * ring_.bytes();
  return bytes >= full_enough(ring_) || (scattered && bytes >= ring_.bytes() / 16);
}

bool Journal::is_checkpoint_due() const {
  const Lock lock(mutex_);
  return due();
}

/// Calls work() without the lock, as the one thread that may write the head. Fails for good if the
/// work does.
Status Journal::with_head(Lock& lock, FunctionRef<Status()> work) {
  tail_moved_.wait(lock, [&] { return !head_taken_; });
  if (!failure_.ok()) {
    return failure_;
  }
  head_taken_ = true;
  lock.unlock();
  Status status;
  try {
    status = work();
  } catch (const std::exception& failure) {
    status = Status(Code::io_error, std::string("a checkpoint cannot be made: ") + failure.what());
  }
  lock.lock();
  head_taken_ = false;
  if (!status.ok()) {
    fail(status);
  }
  tail_moved_.notify_all();
  return status;
}

/// Whether groups lie behind each other across the end of the ring. Under the mutex.
bool Journal::wraps() const {
  return tail_ % ring_.bytes() + (written_.at - tail_) > ring_.bytes();
}

/// Makes the ring longer if room behind it has been prepared, and nothing is in its way: neither a
/// checkpoint, nor groups that wrap around at the present end.
Status Journal::grow_ring(Lock& lock) {
  if (prepared_ <= ring_.bytes() || head_taken_ || wraps()) {
    return {};
  }
  const uint64_t bytes = prepared_;
  const uint64_t lap = ring_.first_lap();
  // A crash before the new head is durable leaves the old one, which has the same groups.
  Status status = with_head(lock, [&] { return ring_.write_longer_head(bytes); });
  if (status.ok()) {
    ring_.use(bytes);
    tail_ -= lap;
    written_.at -= lap;
    limit_groups();
    group_freed_.notify_all();  // a group that was full has room now
  }
  return status;
}

/// A ring that is nearly full grows before pages go home, if it can: then pages that many groups
/// change go home once. Returns whether grow_ring() can make it longer now.
bool Journal::make_longer(Lock& lock) {
  if (!wraps() && prepared_ <= ring_.bytes()) {
    static_cast<void>(with_head(lock, [&] { return prepare_growth(); }));  // failure_ has a failure
  }
  return prepared_ > ring_.bytes() && !wraps();
}

/// Makes room behind the ring for its next length, durably.
Status Journal::prepare_growth() {
  Result<uint64_t> next = ring_.next_bytes();
  if (!next) {
    return next.status();
  }
  if (*next <= std::max(ring_.bytes(), prepared_) || disk_full_) {
    return {};
  }
  Status status = ring_.prepare(*next);
  if (status.code() == Code::out_of_space) {
    disk_full_ = true;  // the present length does, too
    return {};
  }
  if (status.ok()) {
    status = ring_.file().sync();
  }
  if (status.ok()) {
    const Lock lock(mutex_);
    prepared_ = *next;
  }
  return status;
}

/// The checkpoint: brings home what is durable, without the lock meanwhile.
Status Journal::bring_home(Lock& lock, bool closing) {
  RingPoint end;
  HomeWrites writes{.checksums = checksums_, .torn = false};
  Status status = with_head(lock, [&] {
    {
      const Lock now(mutex_);
      end = written_;
      writes.torn = torn_;
    }
    return write_durable_home(end, closing, writes);
  });
  if (!status.ok() || tail_ == end.at) {
    return status;
  }
  tail_ = end.at;
  tail_number_ = end.number;
  ++checkpoints_ended_;
  torn_ = false;
  ++counters_.checkpoints;
  counters_.home_bytes += writes.bytes;
  counters_.damaged_pages += writes.damaged;
  const auto home = std::partition(held_pages_.begin(), held_pages_.end(),
                                   [this](uint64_t page) { return has_line_in(page); });
  try {
    home_pages_.insert(home_pages_.end(), home, held_pages_.end());
  } catch (const std::bad_alloc&) {  // these pages keep their memory until they are held again
  }
  held_pages_.erase(home, held_pages_.end());
  checkpoint_wanted_.notify_one();  // a thread that writes may have made this checkpoint
  return {};
}

/// Writes the groups before `end` home, durably, then moves the tail behind them.
Status Journal::write_durable_home(const RingPoint& end, bool closing, HomeWrites& writes) {
  const bool closed = (ring_.head().flags & JournalHead::kClosed) != 0;
  const bool empty = end.at == ring_.head().tail;
  if (empty && (closed || !closing)) {
    return {};
  }
  Result<JournalTail> tail = read_tail(ring_, end.at);
  if (!tail) {
    return tail.status();
  }
  if (tail->end != end.at || tail->number != end.number) {
    return {Code::corrupt,
            "the journal has lost group " + std::to_string(tail->number) + ", which was durable"};
  }
  auto newest = newest_lines(*tail, place());
  if (!newest) {
    return newest.status();
  }
  Status status = write_home(ring_.file(), *newest, writes);
  if (status.ok()) {
    // Pages and their checksums, before the tail moves: until then the journal has the lines.
    status = ring_.file().sync();
  }
  if (!status.ok()) {
    return status;
  }
  JournalHead head{};
  head.salt = salt_;
  head.tail = end.at;
  head.number = end.number;
  head.position = end.position;
  head.flags = closing ? JournalHead::kClosed : 0;
  status = ring_.write_head(head);
  return status.ok() && !closing ? prepare_growth() : status;
}

void Journal::checkpoint(bool closing) {
  await(position());
  Lock lock(mutex_);
  throw_if_failed();
  if (Status status = bring_home(lock, closing); !status.ok()) {
    throw MediumFailure(status);
  }
}

void Journal::checkpoint_in_background(const std::function<void()>& then) {
  Lock lock(mutex_);
  checkpoints_ = true;
  while (!stopped_ && failure_.ok()) {
    if (due() && !head_taken_ && !make_longer(lock)) {
      static_cast<void>(bring_home(lock, false));  // failure_ has a failure
    } else if (then && !home_pages_.empty()) {
      lock.unlock();
      try {
        then();
      } catch (const std::bad_alloc&) {  // it has its turn again after a later checkpoint
      }
      lock.lock();
    } else {
      checkpoint_wanted_.wait(lock);
    }
  }
  checkpoints_ = false;
}

std::vector<uint64_t> Journal::take_home_pages() {
  const Lock lock(mutex_);
  return std::exchange(home_pages_, {});
}

void Journal::for_each_at_home(std::span<const uint64_t> pages,
                               FunctionRef<void(uint64_t)> visit) const {
  const Lock lock(mutex_);
  // A checkpoint that is running changes none of them: it brings lines home.
  for (const uint64_t page : pages) {
    if (!has_line_in(page)) {
      visit(page);
    }
  }
}

}  // namespace holdfast::native
