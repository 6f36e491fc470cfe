// SPDX-License-Identifier: Apache-2.0
//
// native/support/: the options of the native machine, its clock and its waiting loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "holdfast/machine/machine.h"

namespace holdfast {

class ProbeCounts;

/// Delays added to persistence operations, to emulate a slower medium. The thread spins until the
/// delay is over.
struct Latency {
  uint64_t pwb_ns = 0;
  uint64_t pfence_ns = 0;
  uint64_t psync_ns = 0;

  bool any() const { return (pwb_ns | pfence_ns | psync_ns) != 0; }
};

/// The preset of this name: "none", "fur", "stt" or "pcm". Code::invalid_argument, with a list of
/// the right names, for a wrong name.
Result<Latency> parse_latency(const std::string& name);

/// Capacity of software transactions, in lines. `soft` itself has no limit, so the defaults are
/// large. Smaller values imitate a given hardware.
struct SoftOptions {
  size_t store_lines = size_t{1} << 16;
  size_t load_lines = size_t{1} << 20;
};

/// How a group of a journal reaches the medium.
enum class FlushMethod : uint8_t {
  fdatasync,  ///< pwrite(), then fdatasync()
  dsync,      ///< pwritev2() with RWF_DSYNC: one system call, which syncs the written part only
  io_uring,   ///< a write and a linked sync, submitted and awaited with one system call
};
const char* to_string(FlushMethod method);
/// The one that took the shortest time (docs/measurements/journal.md).
inline constexpr FlushMethod kUsualFlush = FlushMethod::dsync;

/// The implementation of hardware transactions.
enum class HtmBackend : uint8_t {
  soft,   ///< software, on every processor
  rtm,    ///< Intel's RTM, with XSUSLDTRK where the processor has it
  power,  ///< POWER8 and POWER9
};
const char* to_string(HtmBackend backend);
/// Code::invalid_argument, with a list of the right names, for a wrong name.
Result<HtmBackend> parse_htm_backend(const std::string& name);

namespace native {
inline constexpr int kDefaultThreads = 64;
}

/// How NativeMachine::open() opens a file. docs/reference/native-machine.md explains each option.
struct NativeOptions {
  bool create = false;                ///< creates the file, which must not exist
  bool read_only = false;             ///< keeps writers out and changes nothing
  std::optional<Domain> domain = {};  ///< none: pmem or eadr if the file offers it, else file
  bool force = false;                 ///< allows pmem and eadr on an ordinary file ("emulated")
  /// Threads that can have a slot, the background thread aside. 0: as many as the heap file that is
  /// opened has logs for, or 64.
  int max_threads = 0;
  Latency latency = {};
  SoftOptions htm = {};
  HtmBackend htm_backend = HtmBackend::soft;
  /// For tests: accepts the backend even if no trial transaction commits or the processor does not
  /// announce it. The processor must be able to execute its instructions.
  bool htm_unproven = false;
  /// For tests: replaces fdatasync, to inject failures. Null means fdatasync.
  std::function<int(int fd)> sync = {};
  /// For tests and comparisons. Where the system does not have this method, it is fdatasync.
  FlushMethod flush = kUsualFlush;
  /// For tests and tools: counts the rare paths that threads of this machine take. Null: nothing
  /// does. It outlives the machine.
  ProbeCounts* probes = nullptr;
};

}  // namespace holdfast
