// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "holdfast/machine/sim/agent_queue.h"

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
  Time issue(uintptr_t address, uint64_t instruction, Time now) {
    // The latest first: once one has returned, those before it have as well.
    for (size_t i = 1; i <= recent_.size(); ++i) {
      const Load& load = recent_[(next_ - i) % recent_.size()];
      if (load.done <= now) {
        break;
      }
      if (address - load.value < kObjectBytes) {
        now = load.done;
        break;
      }
    }
    if (last_merged_done_ > now) {
      for (const Load& load : merged_) {
        if (load.done > now && address - load.value < kObjectBytes) {
          now = load.done;
        }
      }
    }
    if (misses_ != 0) {
      now = issue_beside_misses(address, instruction, now);
    }
    return now;
  }

  /// A load returned `value` from L1.
  void hit(uint64_t value, Time done) {
    recent_[next_++ % recent_.size()] = {done, value, 0};
    last_done_ = std::max(last_done_, done);
  }
  bool misses_in_flight() const { return misses_ != 0; }
  /// When a line that L1 has already made room for is really there; 0: it is.
  Time arrival(uint32_t line) const {
    Time done = 0;
    for (size_t i = 0; i < misses_; ++i) {
      done = in_flight_[i].line == line ? in_flight_[i].done : done;
    }
    return done;
  }
  /// A load of a line on its way, which an earlier miss has asked for, returned `value`.
  void merged(uint64_t value, Time done) {
    merged_[next_merged_++ % merged_.size()] = {done, value, 0};
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
    }
    in_flight_[misses_++] = {done, kNoValue, in_window ? instruction : kNoInstruction, line};
    last_miss_done_ = std::max(last_miss_done_, in_window ? done : 0);
    return done;
  }
  /// The value of the load that missed last.
  void missed_value(uint64_t value) {
    if (misses_ != 0) {
      in_flight_[misses_ - 1].value = value;
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
  struct Load {
    Time done = 0;
    uint64_t value = kNoValue;
    uint64_t instruction = 0;
    uint32_t line = 0;
  };
  static constexpr uint64_t kNoValue = ~uint64_t{0};
  static constexpr uint64_t kNoInstruction = ~uint64_t{0};

  Time issue_beside_misses(uintptr_t address, uint64_t instruction, Time now) {
    for (size_t i = 0; i < misses_; ++i) {
      const Load& load = in_flight_[i];
      const bool depends = address - load.value < kObjectBytes;
      const bool window_full =
          load.instruction != kNoInstruction && load.instruction + window_ <= instruction;
      if (load.done > now && (depends || window_full)) {
        now = load.done;
      }
    }
    drop_done(now);
    return now;
  }

  void drop_done(Time now) {
    for (size_t i = 0; i < misses_;) {
      if (in_flight_[i].done <= now) {
        in_flight_[i] = in_flight_[--misses_];
      } else {
        ++i;
      }
    }
  }

  size_t window_ = 1;
  size_t limit_ = 1;
  std::array<Load, 4> recent_{};  ///< the last hits
  size_t next_ = 0;
  Time last_done_ = 0;
  std::array<Load, 8> merged_{};  ///< the last loads of lines on their way
  size_t next_merged_ = 0;
  Time last_merged_done_ = 0;
  Time last_miss_done_ = 0;
  std::array<Load, kMostMisses> in_flight_{};  ///< misses; the first misses_ of them
  size_t misses_ = 0;
};

}  // namespace holdfast::sim
