// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/threads/phase_tracker.h"

#include <exception>

namespace holdfast::sim {

void PhaseTracker::start(uint64_t now, bool timed) {
  timed_ = timed;
  start_phase(now);
}

void PhaseTracker::stop(uint64_t now) {
  const bool crashed = timeline_ != nullptr && timeline_->crash();
  close_phase(now);
  phase_ = Phase::outside;
  close_transaction(crashed ? Outcome::crash : Outcome::unfinished, now);
  attempting_ = false;
}

Phase PhaseTracker::enter(Phase next, uint64_t now) {
  const Phase former = phase_;
  if (next == former) {
    return former;
  }
  close_phase(now);
  phase_ = next;
  if (next == Phase::execute && !attempting_) {
    attempt_since_ = now;  // a software attempt begins here; begin_attempt() begins a hardware one
    before_attempt_ = of_kind();
  } else if (next == Phase::aborted && transaction_ != TransactionKind::none && !attempting_) {
    attempts_ += attempts_ == 0 ? 2 : 1;         // counts this attempt and the next one
    attempt_in_vain(AbortCause::conflict, now);  // software aborts only because of conflicts
  }
  return former;
}

void PhaseTracker::start_phase(uint64_t now) {
  since_ = now;
  loads_since_ = counters_.loads;
  stores_since_ = counters_.stores;
}

/// Counts time and accesses since the last change of phase, and adds slices to the timeline.
void PhaseTracker::close_phase(uint64_t now) {
  if (timed_) {
    of_kind().phase_time[static_cast<size_t>(phase_)] += now - since_;
  }
  if (phase_ == Phase::lock_wait) {
    lock_wait_end_ = now;
  }
  if (phase_ == Phase::execute) {
    of_kind().execute_loads += counters_.loads - loads_since_;
    of_kind().execute_stores += counters_.stores - stores_since_;
  }
  if (timeline_ != nullptr && phase_ != Phase::outside) [[unlikely]] {
    if (now > since_) {
      timeline_->add(slice(Kind::phase, since_, now));
    }
    if (phase_ == Phase::aborted && cause_ != AbortCause::none) {
      Timeline::Slice attempt = slice(Kind::attempt, attempt_since_, now);
      attempt.outcome = Outcome::aborted;
      attempt.cause = cause_;
      timeline_->add(attempt);
      cause_ = AbortCause::none;  // the attempt ends with the first change of phase after the abort
    }
  }
  start_phase(now);
}

void PhaseTracker::begin_transaction(TransactionKind kind, uint64_t now) {
  enter(Phase::execute, now);
  transaction_ = kind;
  before_attempt_ = of_kind();
  transaction_since_ = now;
  exceptions_ = std::uncaught_exceptions();
  attempts_ = 0;
}

void PhaseTracker::end_transaction(uint64_t now) {
  enter(Phase::outside, now);
  const bool left_by_exception = std::uncaught_exceptions() > exceptions_;
  close_transaction(left_by_exception                       ? Outcome::rolled_back
                    : transaction_ == TransactionKind::read ? Outcome::read_only
                                                            : Outcome::committed,
                    now);
}

void PhaseTracker::close_transaction(Outcome outcome, uint64_t now) {
  if (timeline_ != nullptr && transaction_ != TransactionKind::none) [[unlikely]] {
    Timeline::Slice whole = slice(Kind::transaction, transaction_since_, now);
    whole.outcome = outcome;
    timeline_->add(whole);
  }
  transaction_ = TransactionKind::none;
}

void PhaseTracker::begin_attempt() {
  attempting_ = true;
  ++attempts_;
  attempt_since_ = since_;
  before_attempt_ = of_kind();
}

void PhaseTracker::abort_attempt(AbortCause cause, uint64_t now) {
  if (!attempting_) {
    return;
  }
  close_phase(now);
  phase_ = Phase::aborted;
  attempting_ = false;
  attempt_in_vain(cause, now);
}

void PhaseTracker::attempt_in_vain(AbortCause cause, uint64_t now) {
  cause_ = cause;
  of_kind() = before_attempt_;
  if (timed_) {
    of_kind().phase_time[static_cast<size_t>(Phase::aborted)] += now - attempt_since_;
  }
}

void PhaseTracker::crash(uint64_t now) {
  if (timeline_ != nullptr) {
    timeline_->crashed(slot_, now);
  }
}

Timeline::Slice PhaseTracker::slice(Kind kind, uint64_t begin, uint64_t end) const {
  Timeline::Slice s;
  s.begin = begin;
  s.end = end;
  s.attempts = attempts_;
  s.slot = static_cast<int16_t>(slot_);
  s.kind = kind;
  s.phase = phase_;
  s.transaction = transaction_;
  return s;
}

}  // namespace holdfast::sim
