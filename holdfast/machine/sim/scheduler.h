// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/index_set.h"
#include "holdfast/machine/sim/sim_options.h"

namespace holdfast::sim {

/// Who could act next. Threads and the oldest entries of their store buffers are agents alike.
struct Agents {
  const IndexSet& runnable;  ///< threads that can run, by slot
  const IndexSet& buffered;  ///< threads whose store buffer holds something
  int current;               ///< the thread that asks, or -1 when it cannot go on
  bool yielding;             ///< it would rather let others go first
};

struct Choice {
  enum class Kind : uint8_t { stay, run, drain };
  Kind kind;
  int slot;
};

/// Decides what happens next, before every machine operation. Asked again after each drain.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// At least one agent exists. `stay` only if current >= 0.
  virtual Choice next(const Agents& agents) = 0;
};

/// Seeded coin flips: a switch or a drain may happen before any operation.
class RandomScheduler final : public Scheduler {
 public:
  explicit RandomScheduler(const SimOptions& options);
  Choice next(const Agents& agents) override;

 private:
  Random random_;
  uint64_t switch_below_;  ///< out of 2^32
  uint64_t drain_below_;
};

}  // namespace holdfast::sim
