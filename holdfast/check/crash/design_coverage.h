// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::check {

/// How well the crash points of a search cover a hardware design: its hooks, its non-volatile
/// structures and its state transitions, each with the crashes behind it. Sums over many machines.
/// On machines without a design it stays empty.
class DesignCoverage {
 public:
  struct Row {
    std::string name;
    bool declared = false;  ///< a structure or a transition
    uint64_t met = 0;       ///< how often it was met
    /// The number of crash points that fell behind it: it was met since the crash point before.
    uint64_t behind = 0;
  };

  /// The part of the machine's run that has crash points begins, or ends. Nothing before or after
  /// it counts.
  void begin(const SimMachine& machine);
  void end(const SimMachine& machine);
  /// Here the power fails.
  void point(const SimMachine& machine);

  /// The rows that were met or are declared, in the design's order.
  std::vector<Row> rows() const;
  /// The names of those of rows() behind which no crash fell.
  std::vector<std::string> uncovered() const;

 private:
  std::vector<Row> rows_;
  std::vector<uint64_t> begun_;  ///< by row: the count at begin()
  std::vector<uint64_t> last_;   ///< by row: the count at the last crash point
};

}  // namespace holdfast::check
