// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "holdfast/engines/parts/basics/round_lock.h"
#include "holdfast/engines/parts/durability/lag/awaited_positions.h"
#include "holdfast/engines/parts/durability/lag/lag_options.h"

namespace holdfast {

/// Lets the updates of an engine lag that has no lag of its own, where the machine can defer its
/// psyncs (Machine::let_psyncs_lag): over a journal. The engine runs as ever and does not wait for
/// the medium. Its answers are durable once the machine's position of that moment is. So a crash
/// leaves an image that a power cut could have left on persistent memory a little earlier. The
/// engine recovers from it to the updates that it had answered by then: a prefix.
///
/// Until the first update that commits later, the engine waits for the medium by itself, as without
/// a lag. It knows better which position its answer needs.
///
/// An update that commits later takes the next number and may return while at most `bound` numbers
/// up to its own are not durable. Every few numbers a mark remembers the machine's position, which
/// covers all numbers so far. When the mark's position is durable, its numbers are.
///
/// Thread safety: any thread.
template <class M>
class PositionLag {
 public:
  PositionLag(M& machine, const LagOptions& options)
      : machine_(machine),
        options_(options),
        mark_every_(std::max<uint64_t>(1, options.bound / kMarks)),
        state_(make_object<State>(machine)),
        lock_(machine) {
    state_->allowed.store(options.bound);
  }

  /// Call it before the engine runs an update.
  void begin(Commit commit) {
    if (!is_durable(commit)) {
      if (state_->lags.load() == 0) {
        // First: a thread whose psync has not waited sees it, and waits itself.
        state_->lags.store(1);
        machine_.let_psyncs_lag(options_.age_ms);
      }
      if (machine_.durable(machine_.position())) {
        state_->oldest.store(machine_.now(), std::memory_order_relaxed);
      }
    }
  }

  /// Call it when the engine has run an update. Returns when the caller may answer.
  void answer(Commit commit) {
    if (is_durable(commit)) {
      // If psyncs began to lag only behind the one that this update needs, it is durable.
      if (state_->lags.load() != 0) {
        await(machine_.position(), Site{"lag.durable.wait"});
      }
      return;
    }
    const uint64_t mine = state_->answered.fetch_add(1) + 1;
    if (mine % mark_every_ == 0) {
      lock_.lock();
      mark();
      lock_.unlock();
    }
    // Acquire: the numbers up to this one's bound are durable.
    while (mine > state_->allowed.load(std::memory_order_acquire) &&
           !machine_.skips(Site{"lag.credits"})) {
      make_room(mine);
    }
  }

  /// Returns when every update that had returned is durable.
  void fence() { await(machine_.position(), Site{"lag.fence.wait"}); }

  /// Approximate while transactions run.
  PendingUpdates pending() {
    if (machine_.durable(machine_.position())) {
      return {};
    }
    lock_.lock();
    settle();
    const uint64_t count = state_->answered.load() - durable_;
    lock_.unlock();
    const uint64_t oldest = state_->oldest.load(std::memory_order_relaxed);
    const uint64_t now = machine_.now();
    return {count, count == 0 || now < oldest ? 0 : now - oldest};
  }

 private:
  static constexpr uint64_t kMarks = 4;  // so that three quarters may be on their way

  struct State {
    typename M::template Atomic<uint64_t> answered;  // numbers given
    typename M::template Atomic<uint64_t> oldest;    // time of the oldest pending update, about
    alignas(kMaxLineBytes) typename M::template Atomic<uint64_t> lags;     // 1: psyncs do
    alignas(kMaxLineBytes) typename M::template Atomic<uint64_t> allowed;  // may return
  };
  /// These numbers are durable once the position is.
  struct Mark {
    uint64_t numbers;
    uint64_t position;
    uint64_t made_at;  // by now(): later numbers are younger
  };

  bool is_durable(Commit commit) const {
    return commit == Commit::durable || (commit == Commit::unsaid && !options_.later);
  }

  void await(uint64_t position, Site site) {
    if (!machine_.durable(position)) {
      const PhaseScope<M> waiting(Phase::durability_wait);
      machine_.await_durable(position, site);
    }
  }

  /// The numbers first, then the position: an update takes its number behind its last fence.
  void mark() {
    const uint64_t numbers = state_->answered.load();
    marks_.push({numbers, machine_.position(), machine_.now()});
  }

  /// Forgets durable marks.
  void settle() {
    while (!marks_.empty() && machine_.durable(marks_.front().position)) {
      durable_ = std::max(durable_, marks_.front().numbers);
      // Not back to a time before begin() has found that nothing was pending.
      const uint64_t oldest = state_->oldest.load(std::memory_order_relaxed);
      state_->oldest.store(std::max(oldest, marks_.front().made_at), std::memory_order_relaxed);
      marks_.pop();
    }
    // Release: pairs with answer().
    state_->allowed.store(durable_ + options_.bound, std::memory_order_release);
  }

  /// Waits until the oldest mark is durable.
  void make_room(uint64_t mine) {
    lock_.lock();
    settle();
    uint64_t position = 0;
    if (mine > state_->allowed.load()) {
      if (marks_.empty()) {
        mark();
      }
      position = marks_.front().position;
    }
    lock_.unlock();
    await(position, Site{"lag.credits.wait"});
  }

  M& machine_;
  const LagOptions options_;
  const uint64_t mark_every_;
  State* const state_;
  RoundLock<M> lock_;
  // Under the lock.
  AwaitedPositions<Mark> marks_;
  uint64_t durable_ = 0;  // numbers
};

}  // namespace holdfast
