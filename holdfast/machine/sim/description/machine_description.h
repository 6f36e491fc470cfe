// SPDX-License-Identifier: Apache-2.0
//
// sim/description/: descriptions of simulated computers, and the options and planted bugs of a run.
// This header: a description's values, and reading them from a file.
//
// Files are in experiments/machines; each number there names its source. They are TOML, and keys
// are the names of the members below. docs/reference/machine-descriptions.md explains each key.
//
// The values of MachineDescription stand above all tables. [core], [l1], [medium] and [persistence]
// must exist. [l2], [llc], [tlb], [dram], [ait] and [htm] may be missing; the machine then has no
// such part. A table that exists must have all its keys, except these:
//
//   sockets, smt             1 if missing; with several sockets, transfer_remote_ns is needed; with
//                            several threads per core, core.smt_speed
//   cores                    1 if missing; in [llc] all cores of a socket
//   inclusive, fills_on_miss false if missing
//   write_cycles             hit_cycles if missing; only a hardware design that writes lines to the
//                            last level feels it; only in [llc]
//   row_bytes                0 if missing; with rows, row_hit_ns is needed
//   store_lines, load_lines  needed if tracked by "count"; load_lines only if the two do not share
//   loads_and_stores_share, smt_splits, rollback_only, suspend, suspend_load_tracking
//                            false if missing; with one of the last two, suspend_resume_ns and
//                            suspend_resume_full_ns are needed
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// One level of cache. Absent if bytes is 0.
struct CacheDescription {
  size_t bytes = 0;         ///< size of one cache; the number of sets may be any number
  int ways = 0;             ///< associativity
  int cores = 1;            ///< cores that share one cache; a last level may be several slices
  double hit_cycles = 0;    ///< from the core's request to its value, upper levels included
  double write_cycles = 0;  ///< last level: to write a line there; 0: as hit_cycles
  bool inclusive = false;   ///< an eviction here removes the line from the upper levels
  /// Last level, not inclusive: misses fill it too, and not only evictions of the level above.
  bool fills_on_miss = false;
};

struct CoreDescription {
  double ghz = 1;
  /// Cycles and instructions of one memory operation, with the instructions around it that a
  /// program needs.
  double cycles_per_operation = 1;
  double instructions_per_operation = 3;
  /// Speed of a thread while its core also runs another; 1: as fast as alone.
  double smt_speed = 1;
  int window = 192;           ///< instructions in flight (re-order buffer), per core
  int misses = 10;            ///< outstanding L1 misses (MSHRs, line fill buffers), per core
  int store_buffer = 56;      ///< entries per thread
  double pause_cycles = 10;   ///< cost of pause() in a back-off loop
  double atomic_cycles = 18;  ///< cost of an atomic read-modify-write beyond its load
};

/// The TLBs of a core. Absent if l1_sets is 0: translations then cost nothing.
struct TlbDescription {
  int l1_sets = 0;
  int l1_ways = 0;
  int l2_sets = 0;
  int l2_ways = 0;
  double l2_cycles =
      0;  ///< to look a page up in the second level; a hit in the first costs nothing
};

/// A memory device with its controller: DRAM, or persistent memory.
struct MemoryDescription {
  int channels = 1;          ///< channels of the whole machine, all sockets together
  int banks = 16;            ///< banks per channel
  size_t row_bytes = 0;      ///< row buffer of a bank; 0: none
  double read_ns = 0;        ///< time a bank is busy with a read of a row that is not open
  double row_hit_ns = 0;     ///< time a bank is busy with a read of the open row
  double write_ns = 0;       ///< time a bank is busy with a write
  double bus_ns = 0;         ///< time the channel is busy with one line
  double turnaround_ns = 0;  ///< time between reading and writing
  double path_ns = 0;        ///< time to the controller and back, controller included
  int read_queue = 64;       ///< entries per channel
  int write_queue = 64;      ///< entries per channel: the write-pending queue
  double drain_high = 0.85;  ///< fill level of the write queue at which writing gets priority
  double drain_low = 0.5;    ///< fill level at which that ends
  int drain_batch = 16;      ///< fewest writes once begun
  bool forwards = true;      ///< a read of a line in the write queue is served from there
  bool merges = true;        ///< a write of a line in the write queue replaces that entry
};

/// The address indirection table (AIT) of persistent memory, which maps lines to blocks of the
/// device. The table lies in persistent memory. Its cache is in DRAM beside the controller. Absent
/// if sets is 0.
struct AitDescription {
  size_t sets = 0;        ///< of the cache; any number
  int ways = 0;           ///< of the cache
  int lines = 0;          ///< consecutive lines that one entry of the cache maps
  double hit_cycles = 0;  ///< of the core's clock; every read of persistent memory pays them
};

/// The write-back instruction.
enum class WriteBackKind : uint8_t {
  keep,      ///< CLWB: the line stays in the caches, clean
  evict,     ///< CLFLUSHOPT: the line leaves the caches
  serial,    ///< CLFLUSH: the line leaves the caches, and the instruction waits for it
  emulated,  ///< the thread spins for write_back_ns per line, as in papers without the medium
  /// As emulated, but in the background: the lines of a thread take write_back_ns one after the
  /// other, and its next fence waits for the rest.
  delayed,
};

/// True for write-backs that move no line; only their time is modelled.
constexpr bool is_emulated(WriteBackKind kind) {
  return kind == WriteBackKind::emulated || kind == WriteBackKind::delayed;
}

struct PersistenceDescription {
  bool eadr = false;  ///< the caches are inside the persistence domain
  WriteBackKind write_back = WriteBackKind::keep;
  double write_back_ns = 0;    ///< time one pwb takes its thread; delayed: in the background
  double fence_ns = 0;         ///< time of pfence and psync beyond the operations they wait for
  bool rmw_orders_pwb = true;  ///< an atomic read-modify-write orders write-backs (x86)
};

/// The place where a transaction's lines are tracked. It decides when a transaction is too large.
enum class HtmTracking : uint8_t {
  count,  ///< a table with a number of lines
  l1,     ///< L1; a line that leaves it dooms the transaction
  llc,    ///< the last level; a line that leaves it dooms the transaction
};

struct HtmDescription {
  bool present = false;
  HtmTracking stores = HtmTracking::count;
  HtmTracking loads = HtmTracking::count;
  size_t store_lines = 0;  ///< with count: lines per thread; per core with smt_*; else 0
  size_t load_lines = 0;
  bool loads_and_stores_share = false;  ///< one table of store_lines lines for both
  bool smt_shares = false;              ///< the threads of a core share the limits
  bool smt_splits = false;              ///< each running thread of a core has an equal part of them
  double begin_cycles = 0;
  double commit_cycles = 0;
  double abort_cycles = 0;
  double suspend_resume_ns = 0;        ///< suspend and resume together, with one running thread
  double suspend_resume_full_ns = 0;   ///< with all hardware threads running; linear in between
  bool rollback_only = false;          ///< transactions that track stores only exist
  bool suspend = false;                ///< full suspend exists
  bool suspend_load_tracking = false;  ///< load tracking alone can be suspended (XSUSLDTRK)
  double interrupt_us = 0;             ///< mean time between interrupts of a thread; 0: none
};

/// A computer to simulate.
struct MachineDescription {
  std::string name;
  std::string title;
  int cores = 1;  ///< cores of one socket
  int sockets = 1;
  int smt = 1;  ///< hardware threads of a core
  size_t line_bytes = 64;
  CoreDescription core;
  CacheDescription l1;
  CacheDescription l2;
  CacheDescription llc;
  TlbDescription tlb;
  double transfer_ns = 0;         ///< a line from another core's private cache, same socket
  double transfer_remote_ns = 0;  ///< a line from another socket
  MemoryDescription dram;
  MemoryDescription medium;
  AitDescription ait;
  bool one_memory = false;  ///< no DRAM: volatile data lie in the medium, behind the same channels
  PersistenceDescription persistence;
  HtmDescription htm;

  int hardware_threads() const { return cores * sockets * smt; }
};

/// Values that replace those of a file: a key such as "core.ghz" or "transfer_ns", and its value in
/// TOML. Texts need no quotation marks.
using MachineChanges = std::map<std::string, std::string>;

/// Reads a description from text. `source` names it in messages. Code::invalid_argument, with the
/// message "source:line: key: reason", for text that is not TOML, unknown keys, missing values, and
/// impossible machines.
Result<MachineDescription> parse_machine(const std::string& toml, const std::string& source,
                                         const MachineChanges& changes = {});
/// Reads a description from a file. Errors as above; also not_found, permission_denied, io_error.
Result<MachineDescription> load_machine(const std::string& path,
                                        const MachineChanges& changes = {});

}  // namespace holdfast
