// SPDX-License-Identifier: Apache-2.0
//
// Parts of tests of a design's rules: a machine whose queues never fill, and steps of programs.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test {

inline constexpr uint64_t kNs = 1000;
inline constexpr uint64_t kToController = 5;  // tiny.toml: path_ns 10, there and back

/// A machine whose queues never fill, with a bank for each request of a test. Writes go to the
/// medium as soon as banks are idle.
inline MachineDescription with_queues(MachineDescription machine) {
  machine.medium.write_queue = machine.medium.read_queue = 64;
  machine.medium.banks = 16;
  machine.medium.drain_low = 0;
  return machine;
}

/// A machine with a queue of so many entries, nine of ten of which wait until they must go.
inline MachineDescription patient(int entries) {
  MachineDescription m = roomy();
  m.medium.write_queue = entries;
  m.medium.drain_high = 1;
  m.medium.drain_low = 0.9;
  return m;
}

inline uint64_t written(DesignMachine& m, Cause cause) {
  return m->design_counters().by_cause[static_cast<size_t>(cause)];
}

/// The writes that the medium has made, or has still to make.
inline uint64_t media_writes(DesignMachine& m) {
  const sim::MemoryCounters medium = m->medium_counters();
  return medium.writes - medium.merged - medium.cancelled;
}

/// Brings the first `lines` lines into L1, for writing.
inline void warm(DesignMachine& m, size_t lines) {
  for (size_t line = 0; line < lines; ++line) {
    m.set(line, 0);
  }
  m->fence();
}

/// Loads so many other lines that the first ones leave all caches of the core.
inline void push_out(DesignMachine& m, size_t from = 100) {
  for (size_t line = from; line < from + 40; ++line) {
    m.get(line);
  }
  m->fence();
}

/// A transaction that stores to the first `words` words from line `first` on.
inline void store_words(DesignMachine& m, size_t first, size_t words, uint64_t value) {
  m->tx_start();
  for (size_t i = 0; i < words; ++i) {
    m.set(first + i / 8, value + i, i % 8);
  }
  m->tx_commit();
}

/// Cuts the power at each event of a recovery from this image. Calls whole(image) for the image
/// that the next recovery leaves. Returns the number of events.
inline uint64_t interrupt_recovery(const SimOptions& o, const SimImage& image,
                                   const std::function<void(const SimImage&)>& whole) {
  uint64_t events = 0;
  {
    SimMachine uninterrupted(o, image);
    uninterrupted.power_on();
    events = uninterrupted.persist_events();
    whole(uninterrupted.earliest_image());
  }
  for (uint64_t event = 0; event < events; ++event) {
    SimImage partly;
    {
      SimMachine interrupted(o, image);
      interrupted.crash_at(event);
      EXPECT_THROW(interrupted.power_on(), Error);
      partly = interrupted.earliest_image();
    }
    SimMachine again(o, partly);
    again.power_on();
    whole(again.earliest_image());
  }
  return events;
}

}  // namespace holdfast::design_test
