// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/basics/area_header.h"
#include "holdfast/engines/parts/durability/lag/lag_options.h"

namespace holdfast::cc_htm {

/// A mistake in the algorithm as printed, which an option brings back.
enum class Printed : uint8_t {
  none,
  start,       ///< section 4.2: a transaction retires by its start instead of its end
  evict,       ///< Write: an entry as old as the oldest transaction is evicted
  early_min,   ///< QueueNotifyStart: a number whose slot is not filled yet counts as retired
  no_flush,    ///< Retire: fences, but writes nothing back
  deletion,    ///< section 3.1: logs are deleted in no order, so recovery replays retired ones
  late_store,  ///< claim 1: the clock is read while stores are still in the store buffer
};

inline constexpr OptionInfo kRetriesOption = {
    "retries", "10", "hardware transactions tried before the global lock, 0 to 1000"};
inline constexpr OptionInfo kLogBytesOption = {
    "log_bytes", "1048576", "redo log per thread, 512 bytes to 64 MiB; bounds one transaction",
    "1024"};
inline constexpr OptionInfo kAliasBytesOption = {
    "alias_bytes", "67108864",
    "alias table in volatile memory, 64 bytes to 4 GiB, rounded up to a power of two of sets",
    "4096"};
inline constexpr OptionInfo kWaysOption = {"ways", "2",
                                           "entries in a set of the alias table, 1 to 16"};
inline constexpr OptionInfo kRingOption = {
    "ring", "1024", "transactions that have begun and are not retired, 4 to 1048576", "8"};
inline constexpr OptionInfo kPatienceOption = {
    "patience_us", "1000",
    "time in microseconds after which a body that keeps others from retiring is aborted, 1 to "
    "1000000000"};
inline constexpr OptionInfo kPrintedOption = {
    "printed", "none",
    "none, or a mistake of the paper's text: start, evict, early_min, no_flush, deletion, "
    "late_store"};
inline constexpr OptionInfo kOptions[] = {
    kRetriesOption,  kLogBytesOption, kAliasBytesOption, kWaysOption, kRingOption,
    kPatienceOption, kPrintedOption,  kCommitOption,     kLagOption,  kLagTimeOption};

struct CcOptions {
  uint64_t retries;
  uint64_t log_bytes;  ///< of a thread
  uint64_t alias_bytes;
  uint64_t ways;
  uint64_t ring;
  uint64_t patience_us;
  Printed printed;
  LagOptions lag;

  /// Returns invalid_argument for a malformed value.
  static Result<CcOptions> parse(const Options& options);
};

/// The engine area: a page with header and watermark, then the log of each slot.
struct CcArea {
  static constexpr size_t kMarkOffset = kMaxLineBytes;  ///< two copies, on lines of their own
  static constexpr size_t kMarkStride = kMaxLineBytes;

  CcArea(const CcOptions& options, int max_threads);

  int logs;
  size_t log_bytes;

  size_t log_offset(int slot) const { return kPageBytes + static_cast<size_t>(slot) * log_bytes; }
  size_t bytes() const { return log_offset(logs); }
  AreaHeader header() const;
};

Result<size_t> area_bytes(const Options& options, int max_threads);

}  // namespace holdfast::cc_htm
