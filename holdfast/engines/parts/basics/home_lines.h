// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// The lines of the home that words were stored to, to be written back each once. Keeps its memory.
template <class M>
class HomeLines {
 public:
  explicit HomeLines(M& machine) : machine_(machine) {}

  /// The word at `offset` was stored to.
  void add(uint64_t offset) { lines_.push_back(offset / machine_.line_bytes()); }

  /// The caller fences.
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
