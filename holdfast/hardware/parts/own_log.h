// SPDX-License-Identifier: Apache-2.0
//
// A circular log in a hardware design's own region of persistent memory, and the scan that finds
// its content after a power failure.
//
// Layout     A line with the log's tail, then the slots. A slot has one or more lines. Slots are
//            numbered from 0 for ever; slot n lies at place n modulo their number.
// Slots      The caller writes the lines of a slot. A slot's first line must say the slot's number,
//            so that a scan tells it from what an earlier lap has left there.
// Window     Writes are accepted in any order, so a power failure may leave a gap: a slot that was
//            not written, before slots that were. ready() keeps all slots that may be missing
//            within a window. The scan looks so far beyond a gap.
// Tail       The slots before the tail are free. The tail changes by the write of one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/machine/sim/design/design_context.h"

namespace holdfast {

/// Reads lines of the own region, as many at a time as the controller's read queue has entries.
/// Calls f(index, bytes) for each, in their order. Returns the time at which the last is there.
Time read_lines(DesignContext& context, std::span<const Place> places, ReadCause cause,
                FunctionRef<void(size_t, const std::byte*)> f, Time now);

/// The log. Throws Error(misuse) if a caller writes beyond a slot.
class OwnLog {
 public:
  static constexpr uint64_t kWindow = 256;  ///< slots

  /// The log has `bytes` of the own region from `begin` on, the line of the tail included. It
  /// begins empty.
  void attach(DesignContext& context, uint64_t begin, uint64_t bytes, size_t slot_bytes);

  uint64_t head() const { return head_; }  ///< the number of the next slot
  uint64_t tail() const { return tail_; }  ///< the oldest slot that is not free
  uint64_t slots() const { return slots_; }
  uint64_t free() const { return slots_ - (head_ - tail_); }

  /// Returns `now` if a slot may be taken, else the time at which to ask again: the window is full.
  Time ready(Time now);
  /// Takes the next slot. The caller has checked free() and ready().
  uint64_t take() { return head_++; }
  /// Writes line `index` of a slot. Returns the time at which it is accepted.
  Time write(uint64_t slot, size_t index, const std::byte* bytes, Time now,
             Cause cause = Cause::log);
  /// The place of line `index` of a slot.
  Place place(uint64_t slot, size_t index) const;

  /// Writes a new tail. Returns the time at which it is accepted. The slots before it are free once
  /// the caller has called free_before().
  Time write_tail(uint64_t tail, Time now, Cause cause = Cause::table);
  void free_before(uint64_t tail) { tail_ = tail; }

  // ---- Recovery
  /// Reads the tail, then the first line of each slot from there on. `valid(slot, line)` says
  /// whether the line belongs to this slot. The head is then behind the last valid slot.
  Time scan(FunctionRef<bool(uint64_t, const std::byte*)> valid, Time now);
  /// Makes the log empty, at one instant. Its slots get numbers that no slot had before.
  Time restart(Time now);

 private:
  struct InFlight {
    uint64_t slot;
    Time accepted;
  };

  DesignContext* context_ = nullptr;
  uint64_t begin_ = 0;
  uint64_t slots_ = 0;
  size_t slot_bytes_ = 0;
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
  std::deque<InFlight> in_flight_;  ///< by slot
};

}  // namespace holdfast
