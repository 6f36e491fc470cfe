// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/sim/description/machine_description.h"
#include "holdfast/machine/sim/support/agent_queue.h"

namespace holdfast::sim {

struct MemoryCounters {
  uint64_t reads = 0;
  uint64_t writes = 0;     ///< reads and writes asked for; what follows is part of these
  uint64_t forwarded = 0;  ///< reads served from the write queue
  uint64_t merged = 0;     ///< writes that replaced one in the queue: the medium never sees these
  uint64_t row_hits = 0;
  Time reads_waited = 0;      ///< for an entry, a bank or the bus, all reads together
  Time writes_waited = 0;     ///< for an entry of the write queue
  uint64_t highest_fill = 0;  ///< of one channel's write queue
};

/// A memory controller with its device: every request is told at once when it will be served. The
/// rules are at the top of memory_controller.cc. Calls come almost in the order of `now`; one that
/// comes some hundred nanoseconds too early is fitted in where there was room.
class MemoryController {
 public:
  /// Throws Error(invalid_argument) when the description cannot be built.
  MemoryController(const MemoryDescription& description, size_t line_bytes);
  ~MemoryController();
  MemoryController(const MemoryController&) = delete;
  MemoryController& operator=(const MemoryController&) = delete;

  /// A read of this line leaves for the controller at `now`; returns when its value is back.
  Time read(uint64_t line, Time now);
  /// A write of this line leaves for the controller at `now`; returns when the write queue has
  /// taken it: from then on it survives a power failure.
  Time write(uint64_t line, Time now);

  /// Orders everything out that is in the write queues at `now`, as a drain that reads wait for,
  /// and returns when the last of it is on the medium. Times here and in queued() are the
  /// controller's: no path is added.
  Time drained(Time now);
  /// Is this line in the write queue (waiting, or on its way to the medium) at `now`?
  bool queued(uint64_t line, Time now);

  const MemoryCounters& counters() const { return counters_; }

 private:
  class Channel;
  struct Timing {
    Time read = 0;
    Time row_hit = 0;
    Time write = 0;
    Time bus = 0;
    Time turnaround = 0;
    Time path_there = 0;  ///< the two halves of the path
    Time path_back = 0;
    size_t read_queue = 0;
    size_t write_queue = 0;
    size_t high = 0;  ///< entries in use
    size_t low = 0;   ///< entries that wait
    size_t batch = 0;
    bool rows = false;
    bool forwards = false;
    bool merges = false;
  };

  /// Division by a number that is a power of two in most machines.
  class Divisor {
   public:
    explicit Divisor(uint64_t by = 1);
    uint64_t quotient(uint64_t n) const { return shift_ >= 0 ? n >> shift_ : n / by_; }
    uint64_t by() const { return by_; }

   private:
    uint64_t by_;
    int shift_;
  };

  /// Where a line is: lines go round the channels, rows of a channel's lines round its banks.
  struct Place {
    size_t channel;
    size_t bank;
    uint64_t row;
  };
  Place place(uint64_t line) const;

  Timing timing_;
  Divisor channel_count_;
  Divisor row_lines_;
  Divisor bank_count_;
  MemoryCounters counters_;
  std::vector<Channel> channels_;
};

}  // namespace holdfast::sim
