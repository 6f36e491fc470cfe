// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a tiny history is legal by trying every order of its transactions, or of their
// snapshots and commits. It knows nothing of dependencies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "holdfast/check/history/history.h"
#include "holdfast/engines/engine.h"

namespace holdfast::check {

class BruteForce {
 public:
  BruteForce(const History& history, Isolation isolation, bool real_time)
      : history_(history),
        isolation_(isolation),
        real_time_(real_time),
        snapshot_(history.transactions.size()),
        phase_(history.transactions.size(), 0) {}

  bool legal() {
    // Each unanswered transaction may or may not have taken effect.
    std::vector<size_t> live;
    for (size_t i = 0; i < history_.transactions.size(); ++i) {
      if (history_.transactions[i].outcome == Outcome::live) {
        live.push_back(i);
      }
    }
    for (uint64_t choice = 0; choice < uint64_t{1} << live.size(); ++choice) {
      applied_.clear();
      for (const Transaction& transaction : history_.transactions) {
        applied_.push_back(transaction.outcome == Outcome::committed);
      }
      for (size_t i = 0; i < live.size(); ++i) {
        applied_[live[i]] = (choice >> i & 1) != 0;
      }
      if (search(std::vector<Version>(history_.objects))) {
        return true;
      }
    }
    return false;
  }

 private:
  using State = std::vector<Version>;

  /// Tries every transaction that may come next; `state` has the effects of those committed so far.
  bool search(const State& state) {
    if (std::all_of(phase_.begin(), phase_.end(), [](int phase) { return phase == 2; })) {
      return true;
    }
    for (size_t i = 0; i < phase_.size(); ++i) {
      if (phase_[i] == 0 && may_start(i) && consistent(i, state)) {
        phase_[i] = 1;
        snapshot_[i] = state;
        const bool found = isolation_ == Isolation::opaque ? commit(i, state) : search(state);
        phase_[i] = 0;
        if (found) {
          return true;
        }
      } else if (phase_[i] == 1 && commit(i, state)) {
        return true;
      }
    }
    return false;
  }

  bool commit(size_t i, State state) {
    for (const Access& access : history_.transactions[i].accesses) {
      if (applied_[i] && access.writes()) {
        Version& version = state[access.object];
        if (version.transaction != i + 1 && version != snapshot_[i][access.object]) {
          return false;  // another one has committed a write since: first committer wins
        }
        version = access.version;
      }
    }
    phase_[i] = 2;
    const bool found = search(state);
    phase_[i] = 1;
    return found;
  }

  bool may_start(size_t i) const {
    for (size_t k = 0; k < phase_.size() && real_time_; ++k) {
      if (phase_[k] != 2 && history_.transactions[k].end < history_.transactions[i].begin) {
        return false;
      }
    }
    return true;
  }

  bool consistent(size_t i, State state) const {
    for (const Access& access : history_.transactions[i].accesses) {
      Version& version = state[access.object];
      if (access.kind != Access::Kind::blind &&
          version != (access.writes() ? access.replaced : access.version)) {
        return false;
      }
      if (access.writes()) {
        version = access.version;
      }
    }
    return true;
  }

  const History& history_;
  const Isolation isolation_;
  const bool real_time_;
  std::vector<bool> applied_;
  std::vector<State> snapshot_;
  std::vector<int> phase_;  // 0: to come, 1: has its snapshot, 2: done
};

}  // namespace holdfast::check
