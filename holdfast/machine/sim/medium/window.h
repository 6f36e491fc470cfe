// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "holdfast/machine/sim/medium/arena.h"
#include "holdfast/machine/sim/support/agent_queue.h"

namespace holdfast::sim {

/// What one hardware thread has in flight: its share of the re-order buffer and of the miss
/// registers. Loads overlap until the window is full, no miss register is free, or an address
/// depends on a load that has not returned.
///
/// A simulated program does not tell which load an address came from. It shows, though: where an
/// address lies in the object another load's value points to (at most kObjectBytes beyond it), it
/// is taken to depend on that load. Indices and offsets computed from values are not recognised.
class Window {
 public:
  static constexpr uint64_t kObjectBytes = 4096;
  static constexpr size_t kMostMisses = 64;

  void set_limits(size_t instructions, size_t misses) {
    window_ = std::max<size_t>(instructions, 1);
    limit_ = std::clamp<size_t>(misses, 1, kMostMisses);
  }

  /// When a load of this address can start, at `now` or later.
  [[gnu::always_inline]] Time issue(uintptr_t address, uint64_t instruction, Time now) {
    // The latest first: once one has returned, those before it have as well.
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

  /// A load returned `value` from L1.
  void hit(uint64_t value, Time done) {
    recent_[next_++ % kRecent] = {done, value};
    last_done_ = std::max(last_done_, done);
  }
  bool misses_in_flight() const { return misses_ != 0; }
  /// When a line that L1 has already made room for is really there; 0: it is.
  Time arrival(uint32_t line) const {
    Time done = 0;
    if ((lines_ & bit(line)) != 0) {
      for (size_t i = 0; i < misses_; ++i) {
        done = in_flight_[i].line == line ? in_flight_[i].done : done;
      }
    }
    return done;
  }
  /// A load of a line on its way, which an earlier miss has asked for, returned `value`.
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
  /// A load or store at `now` needs its line from elsewhere until `done`; with no miss register
  /// free it begins when one is, and ends so much later. Returns that end. A store (`in_window`
  /// false) holds a register but no place in the window.
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
  /// The value of the load that missed last.
  void missed_value(uint64_t value) {
    if (misses_ != 0) {
      in_flight_[misses_ - 1].value = value;
      missed_values_.add(value);
    }
  }

  /// When the last of the loads so far returns; it may be in the past.
  Time loads_done() const { return std::max({last_done_, last_merged_done_, last_miss_done_}); }
  /// When everything in flight has returned, not before `now`; nothing is in flight then.
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

  /// A set of values, small and coarse, that answers for nearly all addresses that none of them
  /// points to the object there: a bit for the block of each, and that of an address is its own or
  /// the one before.
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

  /// What is asked of all misses in flight at each load, kept in one place.
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
  Time earliest_ = ~Time{0};     ///< no miss returns before
  uint64_t full_at_ = ~Time{0};  ///< the instruction for which the window is full behind a miss
  uint64_t lines_ = 0;           ///< of misses, a bit each
  Pointers missed_values_;
  Pointers merged_values_;  ///< perhaps with some from before
  size_t next_ = 0;
  Time last_done_ = 0;
  size_t next_merged_ = 0;
  Time last_merged_done_ = 0;
  Time last_miss_done_ = 0;
  std::array<Hit, kRecent> recent_{};          ///< the last hits
  std::array<Hit, kMerged> merged_{};          ///< the last loads of lines on their way
  std::array<Load, kMostMisses> in_flight_{};  ///< misses; the first misses_ of them
};

}  // namespace holdfast::sim
