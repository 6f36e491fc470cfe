// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/durability/lag/awaited_positions.h"
#include "holdfast/engines/parts/durability/lag/lag_options.h"

namespace holdfast {

/// The committed updates that are not durable yet, as two positions in the commit order: of the
/// last committed and of the last durable update. The difference is the number of updates that a
/// crash takes. It never exceeds the bound once their callers have been answered: such an update
/// holds one of `bound` credits, and the durable position gives it back. A machine that defers its
/// psync (Machine::begin_psync) may still be making updates durable that the engine has synced.
/// They keep their credits until then, and their age: the medium may wait with them for more.
///
/// Thread safety: one thread at a time calls commit(), wait(), make_durable(), has_credits() and
/// should_sync(); any thread the others.
template <class M>
class LagWindow {
 public:
  LagWindow(M& machine, const LagOptions& options)
      : machine_(machine),
        options_(options),
        age_limit_(machine.ticks_of_ms(options.age_ms)),
        state_(make_object<State>(machine)),
        synced_(machine.defers_psync() ? make_object<Synced>(machine) : nullptr) {}

  bool can_lag() const { return options_.bound > 0; }

  /// Returns whether an update that asks for `commit` returns only when it is durable.
  bool is_durable(Commit commit) const {
    return !can_lag() || commit == Commit::durable || (commit == Commit::unsaid && !options_.later);
  }

  /// Counts an update that has committed and is not durable.
  void commit() { state_->committed.store(state_->committed.load(kRelaxed) + 1, kRelaxed); }

  /// Notes that the updates committed so far wait. Most updates are made durable at once, and need
  /// no time: reading the clock may cost as much as all the rest of this class.
  void wait() {
    if (since_ == 0) {
      since_ = machine_.now() + 1;
      note_oldest();
    }
  }

  /// Returns whether each update that is not durable has a credit.
  bool has_credits() {
    settle();
    return pending() <= options_.bound;
  }

  /// Returns whether the updates that are not synced should be, so that the medium works on them
  /// while as many again are made.
  bool should_sync() const {
    return synced_ != nullptr &&
           state_->committed.load(kRelaxed) - synced_count() > options_.bound / 2;
  }

  /// All committed updates are durable once the machine's `position` is.
  void make_durable(uint64_t position) {
    settle();
    if (pending() == 0) {
      return;
    }
    const uint64_t committed = state_->committed.load(kRelaxed);
    if (synced_ != nullptr && !machine_.durable(position)) {
      wait();
      in_flight_.push({position, committed, since_});
      // The position first, then the updates: see pending().
      synced_->position.store(position, std::memory_order_release);
      synced_->committed.store(committed, std::memory_order_release);
    } else {
      in_flight_.clear();
      // Release: pairs with pending().
      state_->durable.store(committed, std::memory_order_release);
    }
    since_ = 0;
    note_oldest();
  }

  uint64_t pending() const {
    // Acquire, and first: so this thread sees a committed position that is not behind the durable
    // one.
    uint64_t durable = state_->durable.load(std::memory_order_acquire);
    if (synced_ != nullptr) {
      // Acquire: the position that follows is at least that of these updates.
      const uint64_t synced = synced_->committed.load(std::memory_order_acquire);
      const bool is_durable = machine_.durable(synced_->position.load(kRelaxed));
      durable = is_durable && synced > durable ? synced : durable;
    }
    return state_->committed.load(kRelaxed) - durable;
  }
  /// Returns how long the oldest pending update has waited; 0 without one. In units of now().
  uint64_t age() const {
    if (pending() == 0) {  // also if it has become durable since the last settle()
      return 0;
    }
    const uint64_t oldest = state_->oldest.load(kRelaxed);
    const uint64_t now = machine_.now() + 1;
    return oldest == 0 || now < oldest ? 0 : now - oldest;
  }

  /// Returns whether an update has waited for its durability as long as it may. The flusher asks.
  bool overdue() const { return pending() > 0 && age() >= age_limit_; }

 private:
  // Relaxed elsewhere: the writer's lock orders the positions. The flusher only needs a hint; it
  // takes that lock before it acts.
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  struct alignas(kMaxLineBytes) State {
    typename M::template Atomic<uint64_t> committed, durable;
    typename M::template Atomic<uint64_t> oldest;  // when it began to wait, plus 1; 0: none waits
  };

  /// The newest updates that are durable once the machine's position is.
  struct alignas(kMaxLineBytes) Synced {
    typename M::template Atomic<uint64_t> position, committed;
  };
  struct InFlight {
    uint64_t position;
    uint64_t committed;
    uint64_t since;  // as since_
  };

  /// The updates that have been synced, durable or not yet.
  uint64_t synced_count() const {
    return in_flight_.empty() ? state_->durable.load(kRelaxed) : in_flight_.back().committed;
  }

  /// Gives credits back for the positions that have become durable.
  void settle() {
    while (!in_flight_.empty() && machine_.durable(in_flight_.front().position)) {
      // Release: pairs with pending().
      state_->durable.store(in_flight_.front().committed, std::memory_order_release);
      in_flight_.pop();
      note_oldest();
    }
  }

  void note_oldest() {
    state_->oldest.store(in_flight_.empty() ? since_ : in_flight_.front().since, kRelaxed);
  }

  M& machine_;
  const LagOptions options_;
  const uint64_t age_limit_;
  State* state_;
  Synced* const synced_;                  // null if no psync is deferred
  AwaitedPositions<InFlight> in_flight_;  // of the commits that are being made durable
  uint64_t since_ = 0;  // when the first of the others began to wait, plus 1; 0: none does
};

}  // namespace holdfast
