// SPDX-License-Identifier: Apache-2.0
//
// How far the loads of one hardware thread overlap in simulated time (docs/inside/sim-time.md, "A
// core").
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "holdfast/machine/sim/medium/arena.h"
#include "holdfast/machine/sim/support/agent_queue.h"

namespace holdfast::sim {

/// The loads and stores that one hardware thread has in flight: its share of the core's re-order
/// buffer (the window) and of its miss registers. Loads overlap until the window is full, no miss
/// register is free, or an address depends on a load that has not returned.
///
/// The program does not say which load an address came from, so the window guesses. An address at
/// most kObjectBytes beyond the value of a load in flight is taken to depend on that load: the
/// value looks like a pointer to the object there. Indices and offsets computed from values are not
/// recognised.
class Window {
 public:
  static constexpr uint64_t kObjectBytes = 4096;
  static constexpr size_t kMostMisses = 64;

  void set_limits(size_t instructions, size_t misses) {
    window_ = std::max<size_t>(instructions, 1);
    limit_ = std::clamp<size_t>(misses, 1, kMostMisses);
  }

  /// Returns the time, `now` or later, at which a load of this address can start. `instruction` is
  /// its number in the thread's instructions.
  [[gnu::always_inline]] Time issue(uintptr_t address, uint64_t instruction, Time now) {
    // The latest hit first: once one has returned, all before it have returned too.
    for (size_t i = 1; i <= kRecent; ++i) {
      const Hit& hit = recent_[(next_ - i) % kRecent];
      if (hit.done <= now) {
        break;
      }
      if (address - hit.value < kObjectBytes) {
        now = hit.done;
        break;
      }
    }
    if (last_merged_done_ > now && merged_values_.may_point_to(address)) {
      for (const Hit& hit : merged_) {
        if (hit.done > now && address - hit.value < kObjectBytes) {
          now = hit.done;
        }
      }
    }
    if (instruction >= full_at_ || missed_values_.may_point_to(address)) {
      now = issue_beside_misses(address, instruction, now);
    }
    drop_done(now);
    return now;
  }

  /// A load returns `value` from L1 at `done`.
  void hit(uint64_t value, Time done) {
    recent_[next_++ % kRecent] = {done, value};
    last_done_ = std::max(last_done_, done);
  }
  bool misses_in_flight() const { return misses_ != 0; }
  /// L1 has made room for the line. Returns the time at which the line arrives; 0 if it has
  /// arrived.
  Time arrival(uint32_t line) const {
    Time done = 0;
    if ((lines_ & bit(line)) != 0) {
      for (size_t i = 0; i < misses_; ++i) {
        done = in_flight_[i].line == line ? in_flight_[i].done : done;
      }
    }
    return done;
  }
  /// A load hits a line that is on its way since an earlier miss, and returns `value` at `done`.
  void merged(uint64_t value, Time done) {
    if (next_merged_ % kMerged == 0) {
      merged_values_ = {};
      for (size_t i = 1; i < kMerged; ++i) {
        merged_values_.add(merged_[i].value);
      }
    }
    merged_[next_merged_++ % kMerged] = {done, value};
    merged_values_.add(value);
    last_merged_done_ = std::max(last_merged_done_, done);
  }
  /// A load or store at `now` misses, and its line would arrive at `done`. If no miss register is
  /// free, it begins when one becomes free, and ends later by that delay. Returns the time at which
  /// the line arrives. A store (`in_window` false) takes a register but no place in the window.
  Time miss(uint32_t line, uint64_t instruction, Time now, Time done, bool in_window) {
    drop_done(now);
    if (misses_ == limit_) {
      const auto earliest = std::min_element(
          in_flight_.begin(), in_flight_.begin() + static_cast<std::ptrdiff_t>(misses_),
          [](const Load& a, const Load& b) { return a.done < b.done; });
      done += earliest->done - now;
      *earliest = in_flight_[misses_ - 1];
      --misses_;
      sum_up();
    }
    in_flight_[misses_++] = {done, kNoValue, in_window ? instruction : kNoInstruction, line};
    note(in_flight_[misses_ - 1]);
    last_miss_done_ = std::max(last_miss_done_, in_window ? done : 0);
    return done;
  }
  /// The value of the latest load that missed.
  void missed_value(uint64_t value) {
    if (misses_ != 0) {
      in_flight_[misses_ - 1].value = value;
      missed_values_.add(value);
    }
  }

  /// The time at which all loads so far have returned; it may be in the past.
  Time loads_done() const { return std::max({last_done_, last_merged_done_, last_miss_done_}); }
  /// Returns the time, `now` or later, at which all loads have returned, and drops what is done by
  /// then.
  Time drain(Time now) {
    now = std::max(now, loads_done());
    drop_done(now);
    return now;
  }

 private:
  struct Hit {
    Time done = 0;
    uint64_t value = kNoValue;
  };
  struct Load {
    Time done = 0;
    uint64_t value = kNoValue;
    uint64_t instruction = 0;
    uint32_t line = 0;
  };
  static constexpr uint64_t kNoValue = ~uint64_t{0};
  static constexpr uint64_t kNoInstruction = ~uint64_t{0};
  static constexpr size_t kRecent = 4;
  static constexpr size_t kMerged = 8;

  /// A filter over values: false from may_point_to() means that no value points to the object
  /// around the address, and this is the answer for nearly all addresses. It has one bit for the 4
  /// KiB block of each value. An address depends on a value in its own block or in the block
  /// before.
  class Pointers {
   public:
    void add(uint64_t value) {
      if (value - (kArenaBase - kObjectBytes) < kArenaMaxBytes + kObjectBytes) {
        blocks_ |= bit(value / kObjectBytes);
      }
    }
    bool may_point_to(uintptr_t address) const {
      return (std::rotr(blocks_, static_cast<int>((address / kObjectBytes - 1) % 64)) & 3) != 0;
    }

   private:
    uint64_t blocks_ = 0;
  };

  static uint64_t bit(uint64_t i) { return uint64_t{1} << (i % 64); }

  Time issue_beside_misses(uintptr_t address, uint64_t instruction, Time now) const {
    for (size_t i = 0; i < misses_; ++i) {
      const Load& load = in_flight_[i];
      const bool depends = address - load.value < kObjectBytes;
      const bool window_full =
          load.instruction != kNoInstruction && load.instruction + window_ <= instruction;
      if (load.done > now && (depends || window_full)) {
        now = load.done;
      }
    }
    return now;
  }

  void drop_done(Time now) {
    if (now < earliest_) {
      return;
    }
    for (size_t i = 0; i < misses_;) {
      if (in_flight_[i].done <= now) {
        in_flight_[i] = in_flight_[--misses_];
      } else {
        ++i;
      }
    }
    sum_up();
  }

  /// Recomputes the summary of all misses in flight, so that a load need not look at each miss.
  void sum_up() {
    earliest_ = full_at_ = ~Time{0};
    lines_ = 0;
    missed_values_ = {};
    for (size_t i = 0; i < misses_; ++i) {
      note(in_flight_[i]);
      missed_values_.add(in_flight_[i].value);
    }
  }
  void note(const Load& load) {
    earliest_ = std::min(earliest_, load.done);
    if (load.instruction != kNoInstruction) {
      full_at_ = std::min(full_at_, load.instruction + window_);
    }
    lines_ |= bit(load.line);
  }

  size_t window_ = 1;
  size_t limit_ = 1;
  size_t misses_ = 0;
  Time earliest_ = ~Time{0};     ///< no miss in flight returns before this time
  uint64_t full_at_ = ~Time{0};  ///< the first instruction that does not fit behind a miss
  uint64_t lines_ = 0;           ///< a bit for each line in flight: a filter
  Pointers missed_values_;
  Pointers merged_values_;  ///< may still have values that are no longer in merged_
  size_t next_ = 0;
  Time last_done_ = 0;
  size_t next_merged_ = 0;
  Time last_merged_done_ = 0;
  Time last_miss_done_ = 0;
  std::array<Hit, kRecent> recent_{};          ///< the latest hits
  std::array<Hit, kMerged> merged_{};          ///< the latest loads of lines on their way
  std::array<Load, kMostMisses> in_flight_{};  ///< the first misses_ entries are misses in flight
};

}  // namespace holdfast::sim
