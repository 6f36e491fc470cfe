// SPDX-License-Identifier: Apache-2.0
//
// Persistent memory on a machine with a hardware design: its content, and the writes on their way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "holdfast/machine/sim/caches/memory_controller.h"
#include "holdfast/machine/sim/design/design_types.h"
#include "holdfast/machine/sim/medium/persistence.h"
#include "holdfast/machine/sim/memory/own_region.h"

namespace holdfast::sim {

/// The bytes of one line.
using LineBytes = std::array<std::byte, 128>;

/// A write that the controller has not accepted yet.
struct WriteOnItsWay {
  Place to;
  Time accepted = 0;
  uint64_t number = 0;  ///< for cancel(); counts all writes
  bool cancelable = false;
  bool in_cache = false;  ///< a cache that survives has its bytes until it is accepted
  WriteTicket queue;
  LineBytes bytes{};
};

/// The persistent memory: the program's medium, and the design's own region. A write changes the
/// content when it is accepted. Times are those of acceptance.
class DesignWrites {
 public:
  DesignWrites(Persistence& home, size_t line_bytes, const MemoryController& controller)
      : home_(home), line_bytes_(line_bytes), controller_(controller) {}

  /// Adds a write. If an earlier one of the same line is accepted later, this one is, too. Returns
  /// the time at which it is accepted.
  Time add(WriteOnItsWay write);
  /// The time at which all writes of the line are accepted; 0 if none is on its way.
  Time accepted_at(Place place) const;
  /// The time at which the next write is accepted; kNever if there is none.
  Time next() const { return waiting_.empty() ? kNever : waiting_.front().accepted; }
  const WriteOnItsWay& front() const { return waiting_.front(); }
  /// The first write is accepted. It changes the content if apply() is called with it.
  WriteOnItsWay take_front();
  void apply(const WriteOnItsWay& write);
  const std::deque<WriteOnItsWay>& waiting() const { return waiting_; }

  /// Copies the latest content of a line, with the writes on their way.
  void latest(Place from, std::byte* to) const;
  /// Copies the content of a line that would survive now.
  void accepted(Place from, std::byte* to) const;
  void put(Place to, const std::byte* bytes, size_t n);
  const OwnRegion& own() const { return own_; }

  /// The place in the controller's queue of a write that can be cancelled; null if there is none.
  const WriteTicket* queued(uint64_t number) const;
  /// The write was cancelled. If it was accepted, what it had covered comes back, and the result is
  /// true.
  bool undo(uint64_t number);

  static constexpr Time kNever = ~Time{0};

 private:
  /// An accepted write that its bank may not have begun.
  struct Covering {
    uint64_t number;
    Place to;
    WriteTicket queue;
    LineBytes below;          ///< the line without this write
    bool covered = false;     ///< a later write of the line was accepted
    uint64_t covered_by = 0;  ///< its number, if it can be cancelled
  };
  static constexpr size_t kFewCovering = 64;

  void forget_begun();

  Persistence& home_;
  size_t line_bytes_;
  const MemoryController& controller_;
  OwnRegion own_;
  std::deque<WriteOnItsWay> waiting_;    ///< in the order of acceptance
  std::deque<Covering> covering_;        ///< in the order of acceptance
  size_t most_covering_ = kFewCovering;  ///< when more, those whose bank has begun are forgotten
};

}  // namespace holdfast::sim
