// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/machine/machine.h"

namespace holdfast::sim {

/// A record of the activities of simulated threads, for people. It is written as trace-event JSON,
/// which https://ui.perfetto.dev and chrome://tracing open. Each thread has a track, with its
/// transactions; transactions contain aborted attempts and phases, and attempts contain phases.
///
/// Memory is bounded: slices beyond `limit` are only counted. The file then has a note in
/// otherData.note, and an event "timeline full" at the time of the first missing slice.
class Timeline {
 public:
  /// A slice takes 32 bytes here and some 110 in the file. Viewers still open a file of this size.
  static constexpr size_t kLimit = 1'000'000;

  enum class Kind : uint8_t { transaction, attempt, phase };
  enum class Outcome : uint8_t {
    none,
    committed,
    read_only,
    rolled_back,
    aborted,
    crash,
    unfinished
  };

  struct Slice {
    uint64_t begin = 0;  ///< picoseconds, or machine steps
    uint64_t end = 0;
    uint32_t attempts = 0;  ///< for a transaction: its attempts
    int16_t slot = 0;
    Kind kind = Kind::phase;
    Phase phase = Phase::outside;                         ///< for a phase
    TransactionKind transaction = TransactionKind::none;  ///< for a transaction
    Outcome outcome = Outcome::none;
    AbortCause cause = AbortCause::none;  ///< for an attempt
  };
  struct Crash {
    uint64_t at = 0;
    int slot = 0;  ///< the thread whose operation met the power failure
  };

  /// `process` is the title in viewers, such as "power9 / fur-opa / tpcc".
  explicit Timeline(std::string process, size_t limit = kLimit)
      : process_(std::move(process)), limit_(limit) {}

  /// Sets the origin and the unit of times: picoseconds if `timed`, else machine steps.
  void begin(uint64_t origin, bool timed) { origin_ = origin, timed_ = timed; }
  void add(const Slice& slice);
  void crashed(int slot, uint64_t at) { crash_ = Crash{at, slot}; }

  const std::vector<Slice>& slices() const { return slices_; }
  const std::optional<Crash>& crash() const { return crash_; }
  uint64_t left_out() const { return left_out_; }

  /// Writes the JSON. All times are rounded to nanoseconds in the same way, so slices stay nested.
  /// On a functional machine one machine step is shown as a microsecond.
  void write(std::ostream& out) const;

 private:
  class Writer;

  std::string process_;
  size_t limit_;
  uint64_t origin_ = 0;
  bool timed_ = true;
  std::vector<Slice> slices_;
  std::optional<Crash> crash_;
  uint64_t left_out_ = 0;
  uint64_t full_at_ = 0;
};

const char* to_string(Timeline::Outcome outcome);

}  // namespace holdfast::sim
