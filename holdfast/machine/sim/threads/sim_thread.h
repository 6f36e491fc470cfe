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

/// The state of one hardware thread of the simulated machine.
struct SimThread {
  enum class State : uint8_t { idle, runnable, waiting, asleep };

  SimThread(SimMachine& its_machine, int its_slot, int its_number, size_t buffer_entries)
      : machine(its_machine),
        slot(its_slot),
        number(its_number),
        buffer(buffer_entries),
        phases(its_slot, stats) {}

  SimMachine& machine;
  int slot;    ///< position in the simulator's tables, which says what the thread is for
  int number;  ///< the slot that the program sees: SimMachine::self()
  State state = State::idle;
  uint64_t clock = 0;       ///< virtual time; of no meaning on the functional machine
  void* context = nullptr;  ///< Machine::context()
  Transaction* tx = nullptr;
  /// The hardware design has aborted the thread's transaction for this reason, and the thread has
  /// not learned of it yet.
  AbortCause doomed = AbortCause::none;
  Trace trace;
  StoreBuffer buffer;
  std::vector<WriteBack> write_backs;  ///< have left the buffer, but are not fenced yet
  PersistCounters counters;
  SimCounters stats;
  PhaseTracker phases;

  Fiber fiber;
  std::unique_ptr<FiberStack> stack;
};

/// The simulated thread that runs now; null without a machine. This is the only global state of the
/// simulated machine.
inline constinit thread_local SimThread* current_thread = nullptr;

}  // namespace holdfast::sim
