// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/machine.h"

namespace holdfast::native {

/// The lines that a thread has written back since its last fence, as runs of neighbours.
///
/// Thread safety: one thread.
class LineList {
 public:
  struct Run {
    uintptr_t begin;
    uintptr_t end;
  };

  /// Takes the memory for so many runs. It is kept.
  void reserve(size_t runs) { runs_.reserve(runs); }

  /// Lists each line of [p, p + n), n > 0. A line that was listed just before is not listed again.
  /// May throw bad_alloc, changing nothing.
  void add(const void* p, size_t n) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(p) / kLineBytes * kLineBytes;
    const uintptr_t last = reinterpret_cast<uintptr_t>(p) + n - 1;
    const uintptr_t end = (last / kLineBytes + 1) * kLineBytes;
    if (!runs_.empty() && begin >= runs_.back().begin && begin <= runs_.back().end) {
      runs_.back().end = end > runs_.back().end ? end : runs_.back().end;
    } else {
      runs_.push_back({begin, end});
    }
  }

  const std::vector<Run>& runs() const { return runs_; }
  void clear() { runs_.clear(); }

 private:
  std::vector<Run> runs_;
};

}  // namespace holdfast::native
