// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/basics/area_header.h"
#include "holdfast/engines/parts/isolation/stm/lsa_options.h"

namespace holdfast::ptl2 {

inline constexpr OptionInfo kLogBytesOption = {
    "log_bytes", "2097152",
    "undo log of a thread, 512 bytes to 1 GiB, rounded up to lines; bounds one transaction",
    "4096"};
inline constexpr OptionInfo kBatchOption = {
    "batch", "0",
    "1: all undo entries of an update share a fence; 0: each has its own, as in the paper"};
inline constexpr OptionInfo kOptions[] = {kLogBytesOption, kBatchOption, kLocksOption,
                                          kPatienceOption};

/// The engine area: a page with the header, then the log of each slot.
struct Area {
  size_t log_bytes;  ///< of one slot, with the line of its state
  int slots;
  bool batch;

  /// Returns invalid_argument for a malformed value of any option.
  static Result<Area> parse(const Options& options, int slots);

  size_t bytes() const { return kPageBytes + static_cast<size_t>(slots) * log_bytes; }
  AreaHeader header() const;
};

Result<size_t> area_bytes(const Options& options, int slots);

}  // namespace holdfast::ptl2
