// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/description/machine_description.h"
#include "holdfast/machine/sim/description/mutation.h"

namespace holdfast {

class HardwareDesign;
namespace sim {
class HostPages;  // holdfast/machine/sim/support/host_pages.h
}
class ScheduleExplorer;  // holdfast/machine/sim/threads/scheduler.h

inline constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

/// Who goes next on the simulated machine.
enum class Schedule : uint8_t {
  random,      ///< seeded coin flips before every operation; no notion of time
  timed,       ///< the thread whose virtual clock is lowest; needs a machine description
  exhaustive,  ///< as an explorer says, who tries all schedules of a small program
};

inline const char* to_string(Schedule schedule) {
  constexpr const char* kNames[] = {"random", "timed", "exhaustive"};
  return kNames[static_cast<size_t>(schedule)];
}

/// What a simulated machine is made of. Every choice it makes follows from these values: the same
/// options and the same program give the same run, bit for bit.
struct SimOptions {
  /// Most workers of one run_threads. The caller of run_threads and the background thread have
  /// slots of their own.
  int threads = 4;
  uint64_t seed = 1;
  Domain domain = Domain::pmem;
  Schedule schedule = Schedule::random;
  /// For Schedule::exhaustive. Its bounds and its progress are its own; the seed decides nothing.
  std::shared_ptr<ScheduleExplorer> explorer = nullptr;
  /// The computer to simulate; null for the functional machine. With one, line_bytes, store_buffer,
  /// rmw_orders_pwb and the htm limits below are its own.
  std::shared_ptr<const MachineDescription> machine = nullptr;
  /// Length of a cache line, 64 or 128: the grain of conflicts and of persistence.
  size_t line_bytes = 64;
  /// Address space for volatile memory and mapped media together; nothing is used until touched.
  size_t arena_bytes = size_t{64} << 30;
  /// An atomic read-modify-write (also a sequentially consistent store and fence()) completes the
  /// thread's write-backs, as on x86. Off: only pfence and psync do.
  bool rmw_orders_pwb = true;
  /// Entries of a thread's store buffer; 0 makes memory sequentially consistent.
  size_t store_buffer = 56;
  /// Capacity of one hardware transaction, in lines.
  size_t htm_store_lines = 64;
  size_t htm_load_lines = 1024;
  bool htm_lines_together = false;  ///< htm_store_lines for lines loaded and stored together
  /// Chance that another thread runs before a machine operation.
  double switch_probability = 0.25;
  /// Chance that the oldest entry of some store buffer becomes visible before a machine operation.
  double drain_probability = 0.4;
  /// Operations after which one run_threads is declared stuck. With count_main_events, so many
  /// outside, and the next write-back or fence throws Error(misuse): what opens or closes a heap
  /// walks in circles.
  uint64_t max_steps = 2'000'000'000;
  /// The medium cannot grow beyond this many bytes: a full disk.
  size_t medium_limit = size_t{32} << 30;
  /// Makes the hardware design for atomic durability; null: none. use_design()
  /// (holdfast/hardware/designs.h) sets it by name. Needs a timed schedule and domain pmem or eadr.
  /// With a design there are no hardware transactions.
  std::function<std::unique_ptr<HardwareDesign>()> make_design = {};
  /// The name under which the design saves its state in an image; empty: none, or "custom".
  std::string design = {};
  /// Nothing reaches the medium; shared mappings are private.
  bool read_only = false;
  /// Number (from 1) of the psync that fails, and with it the medium. In domain `file` a pfence
  /// counts as well.
  uint64_t fail_sync_at = kNever;
  /// Counts persist events outside run_threads too, so that crash_at() can hit them.
  bool count_main_events = false;
  /// Planted bugs. One that names a site the program never comes to changes nothing: see
  /// SimMachine::mutated().
  std::vector<Mutation> mutations = {};
  /// Notes the labelled sites the program comes to, for SimMachine::sites().
  bool list_sites = false;
  /// Looks for waste and gaps in the program's use of persistent memory: SimMachine::lint_report().
  bool lint = false;
  /// Memory of the host for tables, from machine to machine of those that live one after the other;
  /// null: its own. Changes nothing that can be seen but the time it takes.
  std::shared_ptr<sim::HostPages> pages = nullptr;
};

}  // namespace holdfast
