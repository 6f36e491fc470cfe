// SPDX-License-Identifier: Apache-2.0
//
// An engine on a simulated machine with a timeline of its threads' activities.
#pragma once

#include <string>
#include <vector>

#include "holdfast/machine/sim/threads/timeline.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::timeline_test {

using sim::Timeline;
using Kind = Timeline::Kind;
using Outcome = Timeline::Outcome;
using Slice = Timeline::Slice;

constexpr uint64_t kMicrosecond = 1'000'000;  // in picoseconds
constexpr int kSlotOfWorker0 = sim::kFirstWorker;

/// A timed machine.
inline SimOptions power9(int threads) {
  SimOptions options;
  options.machine = std::make_shared<MachineDescription>(
      load_machine(HOLDFAST_SOURCE_DIR "/experiments/machines/power9.toml").value());
  options.schedule = Schedule::timed;
  options.threads = threads;
  options.max_steps = 10'000'000;
  return options;
}

/// Without a replayer in the background, whose work would disturb the threads' times.
inline const Options kAlone = {{"background", "0"}, {"log_bytes", "4096"}, {"markers", "64"}};

/// An engine that needs a design gets the first durable one.
class World {
 public:
  /// The engine gets those of `engine_options` that it knows.
  World(const EngineRow<SimMachine>& row, SimOptions options,
        const Options& engine_options = kAlone, size_t limit = Timeline::kLimit)
      : timeline("a \"machine\" / an engine", limit),
        machine([&] {
          if (row.description->needs_design) {
            use_design(options, design_test::durable_design());
          } else {
            options.domain = usual_domain(*row.description);
          }
          return options;
        }()),
        heap(machine, row, known_options(*row.description, engine_options)) {
    heap.engine().format().check();
    heap.recover().check();
  }

  template <class F>
  void run(int threads, F&& f) {
    machine.record(&timeline);
    machine.run_threads(threads, f);
    machine.record(nullptr);
  }

  std::vector<Slice> slices(Kind kind, int slot) const {
    std::vector<Slice> found;
    for (const Slice& s : timeline.slices()) {
      if (s.kind == kind && s.slot == slot) {
        found.push_back(s);
      }
    }
    return found;
  }
  std::vector<Slice> phases(int slot, Phase phase) const {
    std::vector<Slice> found = slices(Kind::phase, slot);
    std::erase_if(found, [&](const Slice& s) { return s.phase != phase; });
    return found;
  }
  /// The phases of a thread in their order.
  std::vector<Phase> order(int slot) const {
    std::vector<Phase> phases;
    for (const Slice& s : slices(Kind::phase, slot)) {
      phases.push_back(s.phase);
    }
    return phases;
  }
  uint64_t time(int slot, Phase phase) const { return machine.statistics(slot).phase_time(phase); }

  Timeline timeline;
  SimMachine machine;
  engine_rows_test::RowHeap heap;
};

inline uint64_t length(const Slice& s) {
  return s.end - s.begin;
}

}  // namespace holdfast::timeline_test
