// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "holdfast/check/crash/sim_heap.h"

namespace holdfast {

/// Updates that have returned, or soon will, and are not durable, over simulated time.
struct PendingGauge {
  struct Sample {
    uint64_t time = 0;   ///< since the gauge began, in picoseconds
    uint64_t count = 0;  ///< Heap::pending()
    uint64_t age = 0;    ///< of the oldest one, in picoseconds
  };

  uint64_t interval = 0;  ///< between samples, in picoseconds; 0: no samples
  std::vector<Sample> samples;

  /// Takes samples until `end`. For a simulated thread that does nothing else: a sample costs the
  /// machine the loads of Heap::pending().
  void watch(SimMachine& machine, SimHeap& heap, uint64_t end) {
    const uint64_t begin = machine.now();
    for (uint64_t at = begin; at < end; at = std::max(at + interval, machine.now())) {
      machine.sleep_until(at);
      const PendingUpdates pending = heap.pending();
      samples.push_back({.time = at - begin, .count = pending.count, .age = pending.age});
    }
  }
};

}  // namespace holdfast
