// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/description/design_fault.h"
#include "holdfast/machine/sim/description/machine_description.h"
#include "holdfast/machine/sim/description/mutation.h"

namespace holdfast {

class HardwareDesign;
namespace sim {
class HostPages;  // holdfast/machine/sim/support/host_pages.h
}
class ScheduleExplorer;  // holdfast/machine/sim/threads/scheduler.h

inline constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

/// The rule that chooses the thread or store buffer that acts next.
enum class Schedule : uint8_t {
  random,      ///< seeded coin flips before every operation; operations take no time
  timed,       ///< the lowest virtual clock; needs a machine description
  exhaustive,  ///< a ScheduleExplorer's choice, which tries all schedules of a small program
};

inline const char* to_string(Schedule schedule) {
  constexpr const char* kNames[] = {"random", "timed", "exhaustive"};
  return kNames[static_cast<size_t>(schedule)];
}

/// The parameters of a simulated machine. They determine every choice that it makes: equal options
/// and an equal program give an equal run, bit for bit.
struct SimOptions {
  /// The most workers of one run_threads. The caller of run_threads and the background thread have
  /// slots of their own.
  int threads = 4;
  uint64_t seed = 1;
  /// 0: the caller of run_threads has slot 0, the background thread slot 1, and the workers the
  /// slots from 2 on. Else the seed of a permutation, so that each thread may have any slot.
  uint64_t slot_order = 0;
  Domain domain = Domain::pmem;
  /// Domain `file` has the rule of a journal (docs/inside/journal.md) in place of its own. A pfence
  /// appends the lines of its thread's write-backs, as they are then. A psync also makes the
  /// journal durable. A crash keeps the durable lines and a prefix of the others. No other store
  /// reaches the medium.
  bool journal = false;
  Schedule schedule = Schedule::random;
  /// Makes the choices of Schedule::exhaustive. It has its own bounds and progress; the seed has no
  /// effect.
  std::shared_ptr<ScheduleExplorer> explorer = nullptr;
  /// The computer to simulate; null for the functional machine. A description overrides line_bytes,
  /// store_buffer, rmw_orders_pwb and the htm limits below.
  std::shared_ptr<const MachineDescription> machine = nullptr;
  /// Bytes of a cache line, 64 or 128: the unit of conflicts and of persistence.
  size_t line_bytes = 64;
  /// Address space for volatile memory and mapped media together. It takes memory only when
  /// touched.
  size_t arena_bytes = size_t{64} << 30;
  /// If true, an atomic read-modify-write, a sequentially consistent store and fence() complete the
  /// thread's write-backs, as on x86. If false, only pfence and psync do.
  bool rmw_orders_pwb = true;
  /// Entries of a thread's store buffer; 0 makes memory sequentially consistent.
  size_t store_buffer = 56;
  /// Capacity of one hardware transaction, in lines.
  size_t htm_store_lines = 64;
  size_t htm_load_lines = 1024;
  bool htm_lines_together = false;  ///< htm_store_lines limits loaded and stored lines together
  /// Probability that another thread runs before a machine operation.
  double switch_probability = 0.25;
  /// The probability while a thread with an odd slot runs; unset: no other one. Then some threads
  /// have longer time slices than others.
  std::optional<double> odd_switch_probability = std::nullopt;
  /// Probability that the oldest entry of some store buffer becomes visible before a machine
  /// operation.
  double drain_probability = 0.4;
  /// The number of operations after which one run_threads is taken to be stuck (SimStuck). With
  /// count_main_events the limit holds outside run_threads too, for code that opens or closes a
  /// heap in an endless loop: the next write-back or fence throws Error(misuse).
  uint64_t max_steps = 2'000'000'000;
  /// The medium cannot grow beyond this many bytes, like a full disk.
  size_t medium_limit = size_t{32} << 30;
  /// Makes the hardware design for atomic durability; null: none. use_design()
  /// (holdfast/hardware/designs.h) sets it by name. Needs a timed schedule and domain pmem or eadr.
  /// With a design there are no hardware transactions.
  std::function<std::unique_ptr<HardwareDesign>()> make_design = {};
  /// The name under which the design saves its state in an image. Empty without a design; if
  /// make_design is set without a name, the machine uses "custom".
  std::string design = {};
  /// With a hardware design, the seed of disturbances that the machine's timing would not show:
  /// lines leave caches that have room, and writes wait longer for their acceptance. 0: none.
  uint64_t disturb = 0;
  /// A planted bug in the design's changes of surviving state.
  std::optional<DesignFault> design_fault = {};
  /// Nothing reaches the medium; shared mappings are private.
  bool read_only = false;
  /// The number (from 1) of the psync that fails, and with it the medium. In domain `file` pfences
  /// count too.
  uint64_t fail_sync_at = kNever;
  /// Counts persist events outside run_threads too, so that crash_at() can stop there.
  bool count_main_events = false;
  /// Planted bugs. One at a site that the program never reaches has no effect; see
  /// SimMachine::mutated().
  std::vector<Mutation> mutations = {};
  /// Notes the labelled sites that the program reaches, for SimMachine::sites().
  bool list_sites = false;
  /// Looks for waste and gaps in the program's use of persistent memory: SimMachine::lint_report().
  bool lint = false;
  /// Memory of the host for the machine's tables, which it hands on to the next machine; null: its
  /// own memory. It changes how long the host takes and nothing else.
  std::shared_ptr<sim::HostPages> pages = nullptr;
  /// Asks the host for huge pages for the tables of caches, which makes long runs 5 % faster. A
  /// machine that lives for milliseconds takes longer with them.
  bool huge_pages = false;
};

}  // namespace holdfast
