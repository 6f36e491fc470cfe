// SPDX-License-Identifier: Apache-2.0
//
// What a simulated computer is made of, in numbers. A description is read from a file in
// experiments/machines, where every number names its source.
//
// The file is TOML. Values of MachineDescription stand above all tables; [core], [l1], [dram],
// [medium] and [persistence] must be there; [l2], [llc] and [htm] may be left out, and the machine
// has none then. Keys are the names of the members. All keys of a table must be given, except
// these, which stand for what many machines do not have:
//     sockets = 1, smt = 1; with more than one: transfer_remote_ns and core.smt_speed are needed
//     cores = 1 (in [llc]: all of a socket), inclusive = false
//     row_bytes = 0; with rows: row_hit_ns is needed
//     store_lines, load_lines: needed if tracked by "count" (the latter unless the two share)
//     loads_and_stores_share, smt_splits, rollback_only, suspend, suspend_load_tracking = false;
//     with one of the last two: suspend_resume_ns and suspend_resume_full_ns are needed
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// One level of cache. Absent when bytes is 0.
struct CacheDescription {
  size_t bytes = 0;  ///< of one cache; the number of sets may be any number
  int ways = 0;
  int cores = 1;           ///< that share one cache; a last level may be several slices
  double hit_cycles = 0;   ///< from the core's request to its value, levels above included
  bool inclusive = false;  ///< evicting a line here removes it from the levels above
};

struct CoreDescription {
  double ghz = 1;
  /// Of one memory operation with the instructions around it that a program would need.
  double cycles_per_operation = 1;
  double instructions_per_operation = 3;
  /// A thread's speed when its core runs another one as well, 1 = as fast as alone.
  double smt_speed = 1;
  int window = 192;           ///< instructions in flight (re-order buffer), per core
  int misses = 10;            ///< outstanding L1 misses (MSHRs, line fill buffers), per core
  int store_buffer = 56;      ///< entries per thread
  double pause_cycles = 10;   ///< a hint in a back-off loop
  double atomic_cycles = 18;  ///< a locked read-modify-write beyond its load
};

/// A memory device behind its controller: DRAM, or persistent memory.
struct MemoryDescription {
  int channels = 1;          ///< of the whole machine, all sockets together
  int banks = 16;            ///< per channel
  size_t row_bytes = 0;      ///< row buffer of a bank; 0: none
  double read_ns = 0;        ///< the bank is busy with a read of a row that is not open
  double row_hit_ns = 0;     ///< with a read of the open row
  double write_ns = 0;       ///< with a write
  double bus_ns = 0;         ///< the channel is busy with one line
  double turnaround_ns = 0;  ///< between reading and writing
  double path_ns = 0;        ///< to the controller and back, controller included
  int read_queue = 64;       ///< entries per channel
  int write_queue = 64;      ///< entries per channel: the write-pending queue
  double drain_high = 0.85;  ///< part of the write queue at which writing begins in earnest
  double drain_low = 0.5;    ///< ... and at which it ends
  int drain_batch = 16;      ///< writes at least, once begun
  bool forwards = true;      ///< a read of a line in the write queue is served from there
  bool merges = true;        ///< a write of a line in the write queue replaces it
};

enum class WriteBackKind : uint8_t {
  keep,      ///< CLWB: the line stays, clean
  evict,     ///< CLFLUSHOPT: the line leaves the caches
  serial,    ///< CLFLUSH: the line leaves, and the instruction waits for it
  emulated,  ///< the thread spins for write_back_ns per line, as papers without the medium do
  /// The same for write-backs that are asynchronous: a line takes write_back_ns in the background,
  /// a thread's lines one after the other, and its next fence waits for what is left of that.
  delayed,
};

/// Nothing moves: only its time is modelled.
constexpr bool is_emulated(WriteBackKind kind) {
  return kind == WriteBackKind::emulated || kind == WriteBackKind::delayed;
}

struct PersistenceDescription {
  bool eadr = false;  ///< caches are inside the persistence domain
  WriteBackKind write_back = WriteBackKind::keep;
  double write_back_ns = 0;  ///< spent by the thread itself in one pwb; delayed: in the background
  double fence_ns = 0;       ///< of pfence and psync beyond what they wait for
  bool rmw_orders_pwb = true;  ///< an atomic read-modify-write orders write-backs (x86)
};

/// Where a transaction's lines are remembered, and so what makes it too large.
enum class HtmTracking : uint8_t {
  count,  ///< a table of so many lines
  l1,     ///< in L1: a line that leaves it ends the transaction
  llc,    ///< in the last level
};

struct HtmDescription {
  bool present = false;
  HtmTracking stores = HtmTracking::count;
  HtmTracking loads = HtmTracking::count;
  size_t store_lines = 0;  ///< count: lines per core (or per thread, see below); others: 0
  size_t load_lines = 0;
  bool loads_and_stores_share = false;  ///< one table of store_lines lines for both
  bool smt_shares = false;              ///< the limits are a core's, for its threads together
  bool smt_splits = false;              ///< the same, and each has an equal part of them
  double begin_cycles = 0;
  double commit_cycles = 0;
  double abort_cycles = 0;
  double suspend_resume_ns = 0;        ///< of both together, one thread running
  double suspend_resume_full_ns = 0;   ///< with all hardware threads running; linear in between
  bool rollback_only = false;          ///< transactions that track stores only
  bool suspend = false;                ///< full suspend
  bool suspend_load_tracking = false;  ///< XSUSLDTRK: suspends load tracking only
  double interrupt_us = 0;             ///< mean time between interrupts of a thread; 0: none
};

/// A machine to simulate. Times in the units their names say.
struct MachineDescription {
  std::string name;
  std::string title;
  int cores = 1;  ///< of one socket
  int sockets = 1;
  int smt = 1;  ///< hardware threads of a core
  size_t line_bytes = 64;
  CoreDescription core;
  CacheDescription l1;
  CacheDescription l2;
  CacheDescription llc;
  double transfer_ns = 0;         ///< of a line from another core's private cache, same socket
  double transfer_remote_ns = 0;  ///< from another socket
  MemoryDescription dram;
  MemoryDescription medium;
  PersistenceDescription persistence;
  HtmDescription htm;

  int hardware_threads() const { return cores * sockets * smt; }
};

/// Values in the place of those of a file: "core.ghz" or "transfer_ns" and the value as TOML has
/// it, except that texts need no quotation marks.
using MachineChanges = std::map<std::string, std::string>;

/// Reads a description. `source` is what messages call it. Text that is not TOML, unknown keys,
/// missing values and impossible geometry are invalid_argument: "source:line: key: reason".
Result<MachineDescription> parse_machine(const std::string& toml, const std::string& source,
                                         const MachineChanges& changes = {});
/// The same from a file, which may also be not_found, permission_denied or io_error.
Result<MachineDescription> load_machine(const std::string& path,
                                        const MachineChanges& changes = {});

}  // namespace holdfast
