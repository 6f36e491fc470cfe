// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/durability/linked/replay_order.h"

namespace holdfast {

/// Options of the engines in this frame. Each engine lists the ones it accepts.
struct PhtOptions {
  uint64_t retries = 10;         ///< hardware attempts before the global lock, whatever the cause
  bool capacity_locks = false;   ///< the first capacity abort ends the attempts
  uint64_t log_bytes = 1 << 20;  ///< of each thread's redo log; a whole number of lines
  bool background = true;        ///< replay in a thread of its own
  uint64_t replayers = 1;        ///< threads that replay when the heap is closed or recovered
  ReplayOrder order = ReplayOrder::links;

  static Result<PhtOptions> parse(const Options& options);
};

inline constexpr OptionInfo kRetriesOption = {
    "retries", "10", "hardware transactions tried before the global lock, 0 to 1000"};
inline constexpr OptionInfo kCapacityOption = {
    "capacity", "retry", "after a capacity abort: retry, or lock (as in SI-HTM's own paper)"};
inline constexpr OptionInfo kPhtLogBytesOption = {
    "log_bytes", "1048576", "redo log per thread, 512 bytes to 128 MiB; bounds one transaction",
    "1024"};
inline constexpr OptionInfo kOrderOption = {
    "order", "links", "how the replayer finds the next transaction: links, or scan of all logs"};

/// Layout of the engine area: header and marker, the two tables, then the logs.
struct PhtArea {
  static constexpr size_t kHeaderWords = 4;
  static constexpr size_t kMarkerOffset = kMaxLineBytes;
  static constexpr size_t kTableOffset = 4 * kLineBytes;

  PhtArea(const PhtOptions& options, int max_threads);

  /// The header's words. A mismatch reveals other options, or another engine's bytes.
  void header(uint64_t magic, uint64_t (&words)[kHeaderWords]) const;

  /// One per slot: the machine's main and background threads have slots as well.
  int logs;
  uint64_t log_bytes;
  size_t log_offset;
  size_t bytes;
};

Result<size_t> pht_area_bytes(const Options& options, int max_threads);
/// For engines without durability: checks the options and returns VolatileHome's size.
Result<size_t> volatile_pht_area_bytes(const Options& options, int max_threads);

}  // namespace holdfast
