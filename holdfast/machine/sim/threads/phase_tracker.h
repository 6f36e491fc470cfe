// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/machine/sim/threads/sim_counters.h"
#include "holdfast/machine/sim/threads/timeline.h"

namespace holdfast::sim {

/// What one simulated thread is at: adds up the time per phase, and tells the timeline, if there is
/// one. Time is the thread's clock, or machine steps where there is no time; then nothing is added
/// up.
class PhaseTracker {
 public:
  PhaseTracker(int slot, SimCounters& counters) : slot_(slot), counters_(counters) {}

  /// Null: record nothing.
  void record(Timeline* timeline) { timeline_ = timeline; }

  /// A run begins, or ends: whatever is still open then will never be finished.
  void start(uint64_t now, bool timed);
  void stop(uint64_t now);

  Phase phase() const { return phase_; }
  /// When the thread last stopped waiting for a lock; 0: it never has.
  uint64_t lock_wait_end() const { return lock_wait_end_; }
  TransactionKind transaction() const { return transaction_; }

  Phase enter(Phase next, uint64_t now);
  void begin_transaction(TransactionKind kind, uint64_t now);
  void end_transaction(uint64_t now);

  /// A hardware transaction begins. The attempt is as old as the phase the thread is in.
  void begin_attempt();
  void end_attempt() { attempting_ = false; }
  /// All of the attempt's time was in vain, and what follows until the next phase is clearing up.
  void abort_attempt(AbortCause cause, uint64_t now);

  /// The power fails.
  void crash(uint64_t now);

 private:
  using Kind = Timeline::Kind;
  using Outcome = Timeline::Outcome;

  SimCounters::OfKind& of_kind() { return counters_.of_kind[static_cast<size_t>(transaction_)]; }
  void start_phase(uint64_t now);
  void attempt_in_vain(AbortCause cause, uint64_t now);
  void close_phase(uint64_t now);
  void close_transaction(Outcome outcome, uint64_t now);
  Timeline::Slice slice(Kind kind, uint64_t begin, uint64_t end) const;

  const int slot_;
  SimCounters& counters_;
  Timeline* timeline_ = nullptr;
  bool timed_ = false;

  Phase phase_ = Phase::outside;
  uint64_t since_ = 0;
  uint64_t lock_wait_end_ = 0;
  uint64_t loads_since_ = 0;  ///< the thread's, when the phase began
  uint64_t stores_since_ = 0;

  TransactionKind transaction_ = TransactionKind::none;
  uint64_t transaction_since_ = 0;
  int exceptions_ = 0;  ///< in flight when the transaction began
  uint32_t attempts_ = 0;

  bool attempting_ = false;
  uint64_t attempt_since_ = 0;
  AbortCause cause_ = AbortCause::none;  ///< in phase aborted
  SimCounters::OfKind before_attempt_{};
};

}  // namespace holdfast::sim
