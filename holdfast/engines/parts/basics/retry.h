// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "holdfast/base/random.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// Randomised exponential back-off between attempts, so that two transactions that keep dooming
/// each other fall out of step.
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

/// The single global lock that transactions fall back to when hardware transactions keep failing.
///
/// Engines with one lock for everything use it as well. Hardware transactions do not subscribe to
/// it: instead the holder waits until everybody else has stopped, and everybody else looks at it
/// after announcing themselves.
template <class M>
class GlobalLock {
 public:
  explicit GlobalLock(M& machine) : machine_(machine), line_(make_array<Line>(machine, 1)) {}

  /// Acquire: who finds it free sees everything its last holder did.
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

  /// Release: whoever begins afterwards sees the holder's data, and that it is durable.
  void release() { line_->word.store(0, std::memory_order_release); }

 private:
  struct alignas(2 * kLineBytes) Line {
    typename M::template Atomic<uint64_t> word{};
  };
  M& machine_;
  Line* line_;
};

}  // namespace holdfast
