// SPDX-License-Identifier: Apache-2.0
//
// Planted bugs in a hardware design: one of its changes of surviving state is lost or comes late.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast {

/// The kinds of changes that a machine with a hardware design counts.
enum class DesignChange : uint8_t {
  home_write,  ///< a line is written to its place
  own_write,   ///< a line of the design's own region is written
  structure,   ///< entries of a non-volatile structure change
  flags,       ///< flags of a line are set
};
inline constexpr size_t kDesignChanges = 4;
inline const char* to_string(DesignChange change) {
  constexpr const char* kNames[] = {"home_write", "own_write", "structure", "flags"};
  return kNames[static_cast<size_t>(change)];
}

/// The fate of the change.
enum class FaultKind : uint8_t {
  drop,   ///< it never happens
  delay,  ///< it happens after the next 100 persist events
  swap,   ///< it happens after the next change of the same kind at another place
};
inline const char* to_string(FaultKind kind) {
  constexpr const char* kNames[] = {"drop", "delay", "swap"};
  return kNames[static_cast<size_t>(kind)];
}

/// A planted bug: the change with this number, from 0, among those of its kind.
struct DesignFault {
  DesignChange change = DesignChange::home_write;
  FaultKind kind = FaultKind::drop;
  uint64_t number = 0;
};

/// How many changes of each kind a run has had.
using DesignChangeCounts = std::array<uint64_t, kDesignChanges>;

}  // namespace holdfast
