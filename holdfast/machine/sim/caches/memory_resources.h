// SPDX-License-Identifier: Apache-2.0
//
// The resources that requests to a memory controller compete for: banks and the bus. The rules are
// at the top of memory_controller.cc.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/sim/caches/memory_controller.h"

namespace holdfast::sim {

/// A queue of a few moments in the order of time. Nearly all insertions are at the end.
class Moments {
 public:
  struct Moment {
    Time at;
    size_t tag;
  };

  explicit Moments(size_t capacity) : ring_(std::bit_ceil(capacity)), mask_(ring_.size() - 1) {}

  bool empty() const { return head_ == tail_; }
  size_t size() const { return tail_ - head_; }
  const Moment& front() const { return ring_[head_ & mask_]; }
  const Moment& back() const { return ring_[(tail_ - 1) & mask_]; }
  const Moment& operator[](size_t i) const { return ring_[(head_ + i) & mask_]; }
  void pop() { ++head_; }

  void insert(Time at, size_t tag) {
    size_t i = tail_++;
    for (; i != head_ && ring_[(i - 1) & mask_].at > at; --i) {
      ring_[i & mask_] = ring_[(i - 1) & mask_];
    }
    ring_[i & mask_] = {at, tag};
  }

 private:
  std::vector<Moment> ring_;
  size_t mask_;
  size_t head_ = 0;
  size_t tail_ = 0;
};

/// The bookings of a bank: reads at fixed times, and one run of writes that a read may push aside.
class Bank {
 public:
  static constexpr uint16_t kNone = 0xffff;
  uint64_t open_row = ~uint64_t{0};
  uint16_t oldest = kNone;  ///< ends of the list of waiting writes, through the channel's entries
  uint16_t newest = kNone;

  /// The time from which on the bank is free for a write.
  Time free_for_write(Time turnaround) const {
    return std::max(run_end_, count_ == 0 ? 0 : fixed_[count_ - 1].end + turnaround);
  }

  /// A write takes the bank at `start`. No request before `now` is expected, so an earlier run
  /// matters only if it ends after `now`.
  void write(Time start, Time length, Time now, Time turnaround) {
    if (run_end_ > now) {
      const bool adjacent = count_ == 0 || fixed_[count_ - 1].end <= run_end_;
      if (adjacent && start < run_end_ + length) {
        run_end_ = start + length;
        return;
      }
      fix(run_begin_, run_end_ + turnaround);
    }
    run_begin_ = start;
    run_end_ = start + length;
  }

  /// A read takes the bank for `length`, at `t` or as soon afterwards as possible. Returns that
  /// time. Writes that begin by `hard` go before the read, later ones after it.
  Time read(Time t, Time hard, Time length, Time write_length, Time turnaround) {
    if (run_end_ == 0 || run_end_ + turnaround <= t) {
      return place(t, length);
    }
    if (run_begin_ > hard) {
      const Time start = gap(t, length);
      if (start + length + turnaround > run_begin_) {
        const Time pushed = run_end_ - run_begin_;
        fix(start, start + length);
        resume_writes(pushed, turnaround);
      } else {
        fix(start, start + length);
      }
      return start;
    }
    Time done = run_end_;
    if (run_end_ > hard && write_length > 0) {
      done -= (run_end_ - hard - 1) / write_length * write_length;
    }
    const Time pushed = run_end_ - done;
    if (pushed == 0) {
      return place(std::max(t, done + turnaround), length);
    }
    fix(run_begin_, done + turnaround);
    const Time start = place(std::max(t, done + turnaround), length);
    resume_writes(pushed, turnaround);
    return start;
  }

 private:
  struct Span {
    Time begin;
    Time end;
  };

  /// The first time from t on at which the bank is free for `length`.
  Time gap(Time t, Time length) const {
    if (count_ == 0 || t >= fixed_[count_ - 1].end) {
      return t;
    }
    for (size_t i = 0; i < count_ && t + length > fixed_[i].begin; ++i) {
      t = std::max(t, fixed_[i].end);
    }
    return t;
  }

  Time place(Time t, Time length) {
    t = gap(t, length);
    fix(t, t + length);
    return t;
  }

  void fix(Time begin, Time end) {
    size_t i = count_;
    while (i > 0 && fixed_[i - 1].begin > begin) {
      --i;
    }
    if (i > 0 && fixed_[i - 1].end == begin) {
      fixed_[i - 1].end = end;
      return;
    }
    if (count_ == fixed_.size()) {
      if (i == 0) {
        return;  // older than all remembered bookings
      }
      --i;
      for (size_t k = 0; k < i; ++k) {
        fixed_[k] = fixed_[k + 1];
      }
    } else {
      for (size_t k = count_++; k > i; --k) {
        fixed_[k] = fixed_[k - 1];
      }
    }
    fixed_[i] = {begin, end};
  }

  void resume_writes(Time length, Time turnaround) {
    run_begin_ = fixed_[count_ - 1].end + turnaround;
    run_end_ = run_begin_ + length;
  }

  Time run_begin_ = 0;
  Time run_end_ = 0;
  size_t count_ = 0;
  std::array<Span, 4> fixed_{};  ///< the last bookings that cannot move (rule 11)
};

/// The bus of a channel. Reads have fixed times. Writes use the remaining time; they do not look
/// for a gap that is long enough. If a write overlaps a read's transfer, the next write waits for
/// as long.
class Bus {
 public:
  Bus(Time line, Time turnaround, size_t reads)
      : line_(line), turnaround_(turnaround), reads_(reads) {}

  /// Returns the time at which a read that comes at t gets an entry of the read queue.
  Time admit(Time t, size_t capacity) {
    while (!reads_.empty() && reads_.front().at + line_ <= t) {
      forget_first();
    }
    if (reads_.size() == capacity) {
      t = reads_.front().at + line_;
      forget_first();
    }
    return t;
  }

  /// The value of a read is ready at t. Returns the time at which its transfer begins.
  Time read(Time t) {
    if (reads_.empty() || t >= solid_from_) {
      const Time after = reads_.empty() ? 0 : reads_.back().at + line_;
      if (t > after) {
        solid_from_ = t;
      }
      t = std::max(t, after);
      reads_.insert(t, 0);
      return t;
    }
    size_t i = reads_.size();
    while (i > 0 && reads_[i - 1].at + line_ > t) {
      --i;
    }
    for (; i < reads_.size() && t + line_ > reads_[i].at; ++i) {
      t = reads_[i].at + line_;
    }
    reads_.insert(t, 0);
    if (i < charged_) {
      writes_free_ += line_;
      ++charged_;
    }
    return t;
  }

  /// Returns the time at which a write that may begin at t gets the bus.
  Time free_for_write(Time t) {
    for (;;) {
      const Time start = std::max(t, writes_free_ + (after_read_ ? turnaround_ : 0));
      if (charged_ == reads_.size() || reads_[charged_].at > start) {
        return start;
      }
      charge_next();
    }
  }
  void write(Time start) {
    writes_free_ = start + line_;
    after_read_ = false;
  }

 private:
  void charge_next() {
    writes_free_ = std::max(writes_free_, reads_[charged_++].at) + line_;
    after_read_ = true;
  }
  void forget_first() {
    if (charged_ == 0) {
      charge_next();
    }
    --charged_;
    reads_.pop();
  }

  Time line_;
  Time turnaround_;
  Moments reads_;         ///< the beginnings of the transfers of reads that hold an entry
  size_t charged_ = 0;    ///< so many of them are counted in writes_free_
  Time solid_from_ = 0;   ///< from here to the end of the last transfer there is no gap
  Time writes_free_ = 0;  ///< the end of all writes, and of all reads counted
  bool after_read_ = false;
};

/// The times of the latest drains, for reads that come with an earlier `now`.
class DrainHistory {
 public:
  void add(Time begin, Time end) { past_[next_++ % past_.size()] = {begin, end}; }

  /// The end of the drain that was under way at t; t if there was none.
  Time end_at(Time t) const {
    for (size_t back = 1; back <= past_.size(); ++back) {
      const Drain& drain = past_[(next_ - back) % past_.size()];
      if (drain.begin <= t) {
        return std::max(t, drain.end);
      }
    }
    return t;
  }

 private:
  struct Drain {
    Time begin = 0;
    Time end = 0;
  };
  std::array<Drain, 64> past_{};
  size_t next_ = 0;
};

}  // namespace holdfast::sim
