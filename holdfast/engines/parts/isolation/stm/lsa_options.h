// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Options of engines over the lazy snapshot algorithm.
struct LsaOptions {
  uint64_t locks = uint64_t{1} << 20;  ///< words of the ownership table; TinySTM's default
  uint64_t patience = 64;              ///< aborts before a transaction takes the right of way
  uint64_t untracked_reads = 2;        ///< attempts of a read-only transaction without a read set

  static Result<LsaOptions> parse(const Options& options);
};

inline constexpr OptionInfo kLocksOption = {
    "locks", "1048576",
    "words of the ownership table, 16 to 268435456, rounded up to a power of two", "256"};
inline constexpr OptionInfo kPatienceOption = {
    "patience", "64", "aborts before a transaction takes the right of way, 1 to 1000000", "4"};
inline constexpr OptionInfo kUntrackedReadsOption = {
    "untracked_reads", "2",
    "attempts of a read-only transaction without a read set, 0 to 1000000; 0: as the artefact of "
    "FUR runs stocklevel"};

/// Parse `locks` and `patience`, which other software engines have as well.
Result<uint64_t> parse_locks(const Options& options);
Result<uint64_t> parse_patience(const Options& options);

}  // namespace holdfast
