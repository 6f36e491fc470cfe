// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// Remembers a few recent lines, so that a pass over a log writes back each line about once. A
/// forgotten line costs one more write-back and is harmless otherwise. A line's number is its
/// offset divided by kLineBytes.
class LineFilter {
 public:
  LineFilter() { recent_.fill(kNone); }

  /// Remembers `line`. True unless it was among the recent ones.
  bool first(uint64_t line) {
    uint64_t& entry = recent_[line % recent_.size()];
    const bool unseen = entry != line;
    entry = line;
    return unseen;
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  std::array<uint64_t, 16> recent_;
};

/// Calls line(begin offset) for every line of [offset, offset + n) that the filter has not seen.
template <class F>
void for_new_lines(LineFilter& filter, uint64_t offset, uint64_t n, F&& line) {
  const uint64_t last = (offset + n - 1) / kLineBytes;
  for (uint64_t i = offset / kLineBytes; i <= last; ++i) {
    if (filter.first(i)) {
      line(i * kLineBytes);
    }
  }
}

}  // namespace holdfast
