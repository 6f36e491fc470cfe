// SPDX-License-Identifier: Apache-2.0
//
// Bytes that a recovery writes to their places on the medium.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "holdfast/machine/sim/design/design_context.h"

namespace holdfast {

/// Collects bytes by their places, and writes each line once.
class HomeLines {
 public:
  explicit HomeLines(DesignContext& context) : context_(context) {}

  /// These bytes belong at this offset of the medium, and do not cross the end of a line. They
  /// cover what was put there before.
  void put(uint64_t offset, std::span<const std::byte> bytes);
  size_t lines() const { return lines_.size(); }
  /// Writes the lines. First reads those of which only a part was put. Returns the time at which
  /// the last write is accepted.
  Time write(Time now);

 private:
  struct Line {
    std::vector<std::byte> bytes;
    std::vector<bool> known;  ///< by byte
  };
  Time read_unknown(Time now);

  DesignContext& context_;
  std::map<uint64_t, Line> lines_;  ///< by offset
};

}  // namespace holdfast
