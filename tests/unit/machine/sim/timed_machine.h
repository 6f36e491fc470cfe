// SPDX-License-Identifier: Apache-2.0
// A made-up computer in round numbers (a cycle is a nanosecond), and helpers for tests of its
// timing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast {

using sim::Level;
using sim::Time;

inline constexpr Time kNs = 1000;
// The latencies of round_machine(), in cycles.
inline constexpr Time kL1 = 4;
inline constexpr Time kL2 = 14;
inline constexpr Time kLlc = 40;
inline constexpr Time kPeer = 60;
inline constexpr Time kRemote = 150;
inline constexpr Time kDram = kLlc + 20 + 100 + 1;    // beyond the last level: path, bank, bus
inline constexpr Time kMedium = kLlc + 20 + 300 + 1;  // as kDram
inline constexpr Time kAccept = kLlc + 10;            // a write's way to the controller
inline constexpr Time kAtomic = 20;

/// Two sockets of two cores of two threads. L1 has 2 sets of 8 ways, L2 8 sets of 8, the last level
/// of a socket 16 sets of 16.
inline MachineDescription round_machine() {
  MachineDescription m;
  m.name = "round";
  m.title = "round numbers";
  m.cores = 2;
  m.sockets = 2;
  m.smt = 2;
  m.core.smt_speed = 0.5;
  m.core.instructions_per_operation = 1;
  m.core.atomic_cycles = static_cast<double>(kAtomic);
  m.l1 = {.bytes = 1024, .ways = 8, .hit_cycles = static_cast<double>(kL1)};
  m.l2 = {.bytes = 4096, .ways = 8, .hit_cycles = static_cast<double>(kL2)};
  m.llc = {.bytes = 16384, .ways = 16, .cores = 2, .hit_cycles = static_cast<double>(kLlc)};
  m.transfer_ns = static_cast<double>(kPeer);
  m.transfer_remote_ns = static_cast<double>(kRemote);
  m.dram = {.read_ns = 100, .write_ns = 200, .bus_ns = 1, .path_ns = 20};
  m.medium = {.read_ns = 300, .write_ns = 500, .bus_ns = 1, .path_ns = 20};
  m.htm.present = true;
  m.htm.store_lines = 16;
  m.htm.load_lines = 32;
  m.htm.smt_shares = true;
  m.htm.rollback_only = m.htm.suspend = true;
  return m;
}

/// A machine with an array of volatile lines and the whole medium, both at the beginning of a set.
class TimedBench {
 public:
  static constexpr size_t kAlignment = size_t{1} << 16;
  static constexpr size_t kLines = 4096;
  static constexpr size_t kMediumBytes = kLines * 64;

  explicit TimedBench(const MachineDescription& machine = round_machine(),
                      Domain domain = Domain::pmem)
      : m(options(machine, domain)),
        words(static_cast<uint64_t*>(
            m.allocate(kLines * machine.line_bytes + kAlignment, kAlignment))) {
    m.medium().grow(kMediumBytes).check();
    medium = reinterpret_cast<uint64_t*>(
        m.medium().map(0, kMediumBytes, nullptr, MapMode::shared).value());
  }

  static SimOptions options(const MachineDescription& machine, Domain domain) {
    SimOptions o;
    o.machine = std::make_shared<MachineDescription>(machine);
    o.schedule = Schedule::timed;
    o.threads = machine.hardware_threads();
    o.domain = domain;
    o.max_steps = 10'000'000;
    return o;
  }

  uint64_t* line(size_t i) { return words + i * m.line_bytes() / sizeof(uint64_t); }
  uint64_t* medium_line(size_t i) { return medium + i * m.line_bytes() / sizeof(uint64_t); }
  SimMachine::Atomic<uint64_t>& atomic(size_t i) {
    return *reinterpret_cast<SimMachine::Atomic<uint64_t>*>(line(i));
  }

  /// Runs f alone, on this core. The next run finds its lines in the caches.
  template <class F>
  void on(int core, F&& f) {
    m.run_threads(core + 1, [&](int i) {
      if (i == core) {
        f();
      }
    });
  }

  // The functions below run on a simulated thread.
  /// Returns the time that f takes, in cycles.
  template <class F>
  double cycles(F&& f) {
    const Time start = m.now();
    f();
    return static_cast<double>(m.now() - start) / static_cast<double>(kNs);
  }
  /// Returns the cycles until the value has arrived: the fence has nothing else to wait for.
  double latency(const uint64_t* p) {
    return cycles([&] {
      SimMachine::load(p);
      m.fence();
    });
  }
  /// Returns the level where a load finds its line.
  Level level(const uint64_t* p) {
    const SimCounters before = m.statistics(m.self());
    SimMachine::load(p);
    m.fence();
    const SimCounters did = m.statistics(m.self()) - before;
    for (size_t i = 0; i < sim::kLevels; ++i) {
      if (did.load_from[i] != 0) {
        return static_cast<Level>(i);
      }
    }
    throw Error(Status(Code::misuse, "no load was counted"));
  }
  /// Returns the cycles of a store until it has left the store buffer.
  double store_latency(uint64_t* p) {
    return cycles([&] {
      SimMachine::store(p, uint64_t{1});
      m.fence();
    });
  }
  void touch(const uint64_t* p) {
    SimMachine::load(p);
    m.fence();
  }

  SimMachine m;
  uint64_t* words;
  uint64_t* medium = nullptr;
};

}  // namespace holdfast
