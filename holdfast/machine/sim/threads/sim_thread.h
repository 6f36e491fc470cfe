// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "holdfast/machine/sim/htm/htm_unit.h"
#include "holdfast/machine/sim/medium/persistence.h"
#include "holdfast/machine/sim/threads/fiber.h"
#include "holdfast/machine/sim/threads/phase_tracker.h"
#include "holdfast/machine/sim/threads/sim_counters.h"
#include "holdfast/machine/sim/threads/store_buffer.h"
#include "holdfast/machine/sim/threads/trace.h"

namespace holdfast {
class SimMachine;
}

namespace holdfast::sim {

/// Everything the machine knows about one of its hardware threads.
struct SimThread {
  enum class State : uint8_t { idle, runnable, waiting, asleep };

  SimThread(SimMachine& its_machine, int its_slot, size_t buffer_entries)
      : machine(its_machine), slot(its_slot), buffer(buffer_entries), phases(its_slot, stats) {}

  SimMachine& machine;
  int slot;
  State state = State::idle;
  uint64_t clock = 0;       ///< virtual time; stands still on the functional machine
  void* context = nullptr;  ///< Machine::context()
  Transaction* tx = nullptr;
  Trace trace;
  StoreBuffer buffer;
  std::vector<WriteBack> write_backs;  ///< issued, left the buffer, not fenced
  PersistCounters counters;
  SimCounters stats;
  PhaseTracker phases;

  Fiber fiber;
  std::unique_ptr<FiberStack> stack;
};

/// The simulated thread that runs now: the machine's only slot outside itself.
inline constinit thread_local SimThread* current_thread = nullptr;

}  // namespace holdfast::sim
