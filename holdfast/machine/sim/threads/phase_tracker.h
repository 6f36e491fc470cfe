// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/machine/sim/threads/sim_counters.h"
#include "holdfast/machine/sim/threads/timeline.h"

namespace holdfast::sim {

/// Follows the phases of one simulated thread. It adds up the time of each phase, and adds slices
/// to the timeline if there is one. Times are the thread's clock. On a functional machine they are
/// machine steps, which are not added up.
class PhaseTracker {
 public:
  PhaseTracker(int slot, SimCounters& counters) : slot_(slot), counters_(counters) {}

  /// Sets the timeline; null: none.
  void record(Timeline* timeline) { timeline_ = timeline; }

  /// A run begins, or ends. A transaction that is open at the end counts as unfinished.
  void start(uint64_t now, bool timed);
  void stop(uint64_t now);

  Phase phase() const { return phase_; }
  /// The time at which the thread last stopped waiting for a lock; 0 if it never has.
  uint64_t lock_wait_end() const { return lock_wait_end_; }
  TransactionKind transaction() const { return transaction_; }

  Phase enter(Phase next, uint64_t now);
  void begin_transaction(TransactionKind kind, uint64_t now);
  void end_transaction(uint64_t now);

  /// A hardware transaction begins. The attempt counts from the beginning of the present phase.
  void begin_attempt();
  void end_attempt() { attempting_ = false; }
  /// All time of the attempt counts as phase `aborted`. The clean-up that follows is in that phase
  /// too, until the next phase begins.
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
  uint64_t loads_since_ = 0;  ///< the thread's counts when the phase began
  uint64_t stores_since_ = 0;

  TransactionKind transaction_ = TransactionKind::none;
  uint64_t transaction_since_ = 0;
  int exceptions_ = 0;  ///< the number in flight when the transaction began
  uint32_t attempts_ = 0;

  bool attempting_ = false;
  uint64_t attempt_since_ = 0;
  AbortCause cause_ = AbortCause::none;  ///< of the attempt, while in phase aborted
  SimCounters::OfKind before_attempt_{};
};

}  // namespace holdfast::sim
