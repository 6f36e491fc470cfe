// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// Collects the home's lines to which words were stored, so that each line is written back only
/// once. Keeps its memory between uses. For one thread.
template <class M>
class HomeLines {
 public:
  explicit HomeLines(M& machine) : machine_(machine) {}

  /// Takes memory for n words. May throw bad_alloc, as add() may without it.
  void reserve(size_t n) { lines_.reserve(n); }

  /// Notes a store to the word at `offset`.
  void add(uint64_t offset) { lines_.push_back(offset / machine_.line_bytes()); }

  /// Issues a pwb for each line and forgets them. The caller fences.
  void write_back(const std::byte* home, Site site) {
    std::sort(lines_.begin(), lines_.end());
    lines_.erase(std::unique(lines_.begin(), lines_.end()), lines_.end());
    for (const uint64_t line : lines_) {
      machine_.pwb(home + line * machine_.line_bytes(), site);
    }
    lines_.clear();
  }

 private:
  M& machine_;
  std::vector<uint64_t> lines_;
};

}  // namespace holdfast
