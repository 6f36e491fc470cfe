// SPDX-License-Identifier: Apache-2.0
//
// A timed machine with a hardware design and some lines of persistent memory, for tests that store
// to them directly.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/hardware/designs.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/machine/sim/support/host_pages.h"

namespace holdfast::design_test {

/// Machine `tiny`: eight-line caches, 1 GHz, so that a cycle is a nanosecond.
inline MachineDescription tiny() {
  return load_machine(HOLDFAST_SOURCE_DIR "/experiments/machines/tiny.toml").value();
}

/// A tiny machine with room for everything: nothing is evicted.
inline MachineDescription roomy() {
  MachineDescription m = tiny();
  m.l1.bytes = m.l2.bytes = m.llc.bytes = 1 << 20;
  m.core.store_buffer = 128;
  return m;
}

/// The first design of the registry under which committed transactions survive a power failure.
inline std::string durable_design() {
  const auto designs = hardware_designs();
  return std::find_if(designs.begin(), designs.end(), [](const auto& d) { return d.durable; })
      ->name;
}
/// The first design under which they do not.
inline std::string volatile_design() {
  const auto designs = hardware_designs();
  return std::find_if(designs.begin(), designs.end(), [](const auto& d) { return !d.durable; })
      ->name;
}

/// A parameter for tests of every design.
inline std::vector<const DesignInfo*> all_designs() {
  std::vector<const DesignInfo*> designs;
  for (const DesignInfo& design : hardware_designs()) {
    designs.push_back(&design);
  }
  return designs;
}

inline SimOptions options(const MachineDescription& machine, const std::string& design,
                          const Options& design_options = {}) {
  SimOptions o;
  o.threads = 3;
  o.schedule = Schedule::timed;
  o.machine = std::make_shared<MachineDescription>(machine);
  use_design(o, design, design_options);
  return o;
}

/// The same machine with small tables, for a sweep, which makes many machines.
inline SimOptions small_tables(SimOptions o) {
  o.arena_bytes = o.medium_limit = size_t{1} << 20;
  o.pages = std::make_shared<sim::HostPages>();
  return o;
}

/// Options for a machine whose design is a D(args...) of the test.
template <class D, class... Args>
SimOptions options_for(const MachineDescription& machine, Domain domain, Args... args) {
  SimOptions o = options(machine, "");
  o.make_design = [=] { return std::make_unique<D>(args...); };
  o.domain = domain;
  return small_tables(o);
}

/// A design that does nothing. It lets a test use the context.
class Open final : public HardwareDesign {
 public:
  Time recover(DesignRecovery&, Time now) override { return now; }
  using HardwareDesign::context;
};

class DesignMachine {
 public:
  static constexpr size_t kBytes = 64 * kPageBytes;

  /// `in_recovery` gets the images of all crash points of the recovery from `image`; or null.
  explicit DesignMachine(const SimOptions& o, const SimImage& image = {}, size_t bytes = kBytes,
                         std::vector<SimImage>* in_recovery = nullptr)
      : machine_(o, image), bytes_(bytes) {
    if (in_recovery != nullptr) {
      machine_.before_persist_event(
          [&](uint64_t) { in_recovery->push_back(machine_.earliest_image()); });
    }
    machine_.power_on();
    machine_.before_persist_event({});
    machine_.medium().grow(bytes).check();
    data_ = machine_.medium().map(0, bytes, nullptr, MapMode::shared).value();
  }
  ~DesignMachine() { machine_.medium().unmap(data_, bytes_); }
  DesignMachine(const DesignMachine&) = delete;
  DesignMachine& operator=(const DesignMachine&) = delete;

  SimMachine& machine() { return machine_; }
  SimMachine* operator->() { return &machine_; }

  /// Word `i` of line `line`.
  uint64_t* word(size_t line, size_t i = 0) const {
    return reinterpret_cast<uint64_t*>(data_ + 64 * line) + i;
  }
  void set(size_t line, uint64_t value, size_t i = 0) const {
    SimMachine::store(word(line, i), value);
  }
  uint64_t get(size_t line, size_t i = 0) const { return SimMachine::load(word(line, i)); }
  /// The word's value in an image.
  static uint64_t in_image(const SimImage& image, size_t line, size_t i = 0) {
    uint64_t value;
    std::memcpy(&value, image.data() + 64 * line + 8 * i, sizeof(value));
    return value;
  }

  /// Runs `f` on one worker thread.
  template <class F>
  void run(F&& f) {
    machine_.run_threads(1, [&](int) { f(); });
  }
  /// A transaction that stores `value` to the first words of these lines.
  void transaction(size_t first, size_t lines, uint64_t value) {
    machine_.tx_start();
    for (size_t line = first; line < first + lines; ++line) {
      set(line, value);
    }
    machine_.tx_commit();
  }
  /// Simulated nanoseconds until a load of the line has returned.
  uint64_t load_ns(size_t line) {
    machine_.fence();
    const uint64_t start = machine_.now();
    get(line);
    machine_.fence();
    return (machine_.now() - start) / 1000;
  }
  uint64_t count(const std::string& name) {
    for (const auto& [counter, value] : machine_.hardware_design()->counters()) {
      if (name == counter) {
        return value;
      }
    }
    return ~uint64_t{0};
  }
  /// Waits until the design has drained everything that it drains.
  void settle() { machine_.settle_design(); }

 private:
  SimMachine machine_;
  size_t bytes_;
  std::byte* data_;
};

}  // namespace holdfast::design_test
