// SPDX-License-Identifier: Apache-2.0
//
// A memory controller with its device, in simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "holdfast/machine/sim/caches/media_wear.h"
#include "holdfast/machine/sim/description/machine_description.h"
#include "holdfast/machine/sim/support/agent_queue.h"

namespace holdfast::sim {

struct MemoryCounters {
  uint64_t reads = 0;      ///< all reads
  uint64_t writes = 0;     ///< all writes
  uint64_t forwarded = 0;  ///< the reads served from the write queue
  uint64_t merged = 0;     ///< the writes that replaced one in the queue, so that one never happens
  uint64_t cancelled = 0;  ///< the writes that were taken back
  uint64_t row_hits = 0;
  Time reads_waited = 0;      ///< wait of all reads for an entry, a bank or the bus
  Time writes_waited = 0;     ///< wait of all writes for an entry of the write queue
  uint64_t highest_fill = 0;  ///< the most entries in use in one channel's write queue

  /// The counts since `before`; highest_fill stays.
  MemoryCounters operator-(const MemoryCounters& before) const {
    MemoryCounters since = *this;
    for (uint64_t MemoryCounters::* counter :
         {&MemoryCounters::reads, &MemoryCounters::writes, &MemoryCounters::forwarded,
          &MemoryCounters::merged, &MemoryCounters::cancelled, &MemoryCounters::row_hits,
          &MemoryCounters::reads_waited, &MemoryCounters::writes_waited}) {
      since.*counter -= before.*counter;
    }
    return since;
  }
};

/// A write in the write queue.
struct WriteTicket {
  size_t channel = 0;
  uint16_t entry = 0;
  uint64_t number = 0;
};

/// A memory controller with its device. Each request learns at once when it will be served. The
/// rules are at the top of memory_controller.cc.
///
/// Calls come almost in the order of `now`. If a call has an earlier `now` than the one before, by
/// some hundred nanoseconds, it gets the first gap that was left at its time.
class MemoryController {
 public:
  /// Throws Error(invalid_argument) for an impossible description.
  MemoryController(const MemoryDescription& description, size_t line_bytes);
  ~MemoryController();
  MemoryController(const MemoryController&) = delete;
  MemoryController& operator=(const MemoryController&) = delete;

  /// A read of this line leaves for the controller at `now`. Returns the time at which its value is
  /// back.
  Time read(uint64_t line, Time now);
  /// A read that begins at the controller, at the time `now` there, and ends there.
  Time read_inside(uint64_t line, Time now);
  Time path_there() const { return timing_.path_there; }
  /// A write of this line leaves for the controller at `now`. Returns the time at which the write
  /// queue accepts it; from then on it survives a power failure.
  Time write(uint64_t line, Time now, WriteTicket* ticket = nullptr);
  /// Takes a write back, once. Returns false if its bank has begun before `now`, a time at the
  /// controller. A write that it has merged with remains.
  bool cancel(const WriteTicket& ticket, Time now);
  /// True if the write may still be cancelled, as far as the controller has got.
  bool waits(const WriteTicket& ticket) const;

  // Times of the next two are those at the controller: they include no path.
  /// Drains all writes that are in the write queues at `now`; reads wait for this drain. Returns
  /// the time at which the last of them is on the medium.
  Time drained(Time now);
  /// True if a write of this line is in the write queue at `now`, waiting or in service.
  bool queued(uint64_t line, Time now);

  const MemoryCounters& counters() const { return counters_; }
  /// Counts the writes of each line from now on, those that merge or are taken back excepted.
  void count_wear() { wear_.emplace(); }
  /// Empty before count_wear().
  WearSummary wear() const { return wear_ ? wear_->summary() : WearSummary{}; }

 private:
  class Channel;
  /// The constructor sets all of them.
  struct Timing {
    Time read;
    Time row_hit;
    Time write;
    Time bus;
    Time turnaround;
    Time path_there;  ///< to the controller
    Time path_back;   ///< from the controller
    size_t read_queue;
    size_t write_queue;
    size_t high;  ///< the number of used entries at which a drain begins
    size_t low;   ///< the number of waiting entries at which writing ends
    size_t batch;
    bool rows;
    bool forwards;
    bool merges;
  };

  /// Division by a number that is a power of two on most machines.
  class Divisor {
   public:
    explicit Divisor(uint64_t by = 1);
    uint64_t quotient(uint64_t n) const { return shift_ >= 0 ? n >> shift_ : n / by_; }
    uint64_t by() const { return by_; }

   private:
    uint64_t by_;
    int shift_;
  };

  /// The place of a line. Consecutive lines lie on consecutive channels; consecutive rows of a
  /// channel's lines lie on consecutive banks.
  struct Place {
    size_t channel;
    size_t bank;
    uint64_t row;
  };
  Place place(uint64_t line) const;

  Timing timing_{};
  Divisor channel_count_;
  Divisor row_lines_;
  Divisor bank_count_;
  MemoryCounters counters_;
  std::optional<MediaWear> wear_;
  std::vector<Channel> channels_;
};

}  // namespace holdfast::sim
