// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "holdfast/machine/types.h"

namespace holdfast {

/// Counts the rare paths that threads take (Probe), for a test or a tool that asks for it
/// (NativeOptions::probes). Several machines may share one object, which outlives them.
///
/// It has no pointers but those to names, which are literals. So it may lie in memory that a
/// process shares with its forked children, and counts what a killed child has done.
///
/// Thread safety: any thread. A count orders nothing, so a race detector sees the races that it
/// would see without.
class ProbeCounts {
 public:
  /// Adds one. Ends the program if there are more than kMost names.
  [[gnu::cold, gnu::noinline]] void count(Probe probe);

  /// How often each path was taken, by its name.
  std::map<std::string, uint64_t> counts() const;

  /// The library has fewer than two hundred names. A compiler may make several literals of one.
  static constexpr size_t kMost = 1024;

 private:
  struct Entry {
    std::atomic<const char*> name{nullptr};
    std::atomic<uint64_t> count{0};
  };
  std::array<Entry, kMost> entries_;
};

}  // namespace holdfast
