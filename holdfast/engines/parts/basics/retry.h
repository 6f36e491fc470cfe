// SPDX-License-Identifier: Apache-2.0
//
// Progress of transactions that keep aborting: back-off, and the single global lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "holdfast/base/random.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// Randomised exponential back-off between attempts, so that two transactions that keep dooming
/// each other fall out of step. For one thread.
class Backoff {
 public:
  explicit Backoff(uint64_t seed) : random_(seed) {}

  template <class M>
  void pause(M& machine, uint64_t attempt) {
    const uint64_t most = uint64_t{1} << std::min<uint64_t>(attempt + 1, kMaxShift);
    for (uint64_t n = random_.below(most) + 1; n > 0; --n) {
      machine.pause();
    }
  }

 private:
  static constexpr uint64_t kMaxShift = 8;
  Random random_;
};

/// The single global lock that a transaction falls back to when its hardware transactions keep
/// failing. Engines with one lock for all transactions use it as well.
///
/// Hardware transactions do not subscribe to it. Instead the holder waits until all running
/// transactions have ended, and each other transaction announces itself before it looks at the
/// lock.
///
/// Thread safety: all functions may be called by any thread; only the holder calls release().
template <class M>
class GlobalLock {
 public:
  explicit GlobalLock(M& machine) : machine_(machine), line_(make_object<Line>(machine)) {}

  /// Acquire: a caller that finds the lock free sees every store of its last holder.
  bool held() const { return line_->word.load(std::memory_order_acquire) != 0; }

  void await_free() {
    while (held()) {
      const PhaseScope<M> waiting(Phase::lock_wait);
      machine_.wait_while(line_->word, uint64_t{1});
    }
  }

  void acquire() {
    uint64_t expected = 0;
    while (!line_->word.compare_exchange(expected, 1)) {
      await_free();
      expected = 0;
    }
  }

  /// Release: a transaction that finds the lock free sees the holder's data, which is durable by
  /// then.
  void release() { line_->word.store(0, std::memory_order_release); }

 private:
  struct alignas(kMaxLineBytes) Line {
    typename M::template Atomic<uint64_t> word{};
  };
  M& machine_;
  Line* line_;
};

}  // namespace holdfast
