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

/// What simulated threads did when, for people to look at: written as trace-event JSON, which
/// https://ui.perfetto.dev and chrome://tracing open. One track per thread; on it transactions, in
/// them aborted attempts, in those and beside them phases.
///
/// Memory is bounded: after `limit` slices further ones are only counted. The file says so, in
/// otherData.note and by an event "timeline full" where the gap begins.
class Timeline {
 public:
  /// A slice takes 32 bytes here and some 110 in the file, which viewers still open at this size.
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
    uint32_t attempts = 0;  ///< of a transaction: hardware transactions begun
    int16_t slot = 0;
    Kind kind = Kind::phase;
    Phase phase = Phase::outside;                         ///< of a phase
    TransactionKind transaction = TransactionKind::none;  ///< of a transaction
    Outcome outcome = Outcome::none;
    AbortCause cause = AbortCause::none;  ///< of an attempt
  };
  struct Crash {
    uint64_t at = 0;
    int slot = 0;  ///< of the thread whose operation met it
  };

  /// `process` is what the viewer calls the whole, such as "power9 / fur-opa / tpcc".
  explicit Timeline(std::string process, size_t limit = kLimit)
      : process_(std::move(process)), limit_(limit) {}

  /// Where the file's time begins, and what it counts: picoseconds, or steps.
  void begin(uint64_t origin, bool timed) { origin_ = origin, timed_ = timed; }
  void add(const Slice& slice);
  void crashed(int slot, uint64_t at) { crash_ = Crash{at, slot}; }

  const std::vector<Slice>& slices() const { return slices_; }
  const std::optional<Crash>& crash() const { return crash_; }
  uint64_t left_out() const { return left_out_; }

  /// Times are rounded to nanoseconds, all in the same way, so that slices stay nested. Without
  /// time, one machine step is shown as a microsecond.
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
