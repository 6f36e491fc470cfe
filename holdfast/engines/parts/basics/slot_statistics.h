// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <vector>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Statistics per machine thread, each thread's on its own lines, summed on demand.
///
/// Thread safety: a thread updates only its own slot. sum() may run at any time; while transactions
/// run it is approximate, because it reads the words one by one.
template <class M>
class SlotStatistics {
 public:
  explicit SlotStatistics(M& machine)
      : machine_(machine), slots_(static_cast<size_t>(machine.slots())) {}

  /// A counter that only its own thread writes. Relaxed, because nothing else depends on its value;
  /// without competing writers, a load and a store replace a locked addition.
  struct Counter {
    uint64_t value = 0;
    void operator+=(uint64_t by) {
      __atomic_store_n(&value, __atomic_load_n(&value, __ATOMIC_RELAXED) + by, __ATOMIC_RELAXED);
    }
    void operator++() { *this += 1; }
    uint64_t read() const { return __atomic_load_n(&value, __ATOMIC_RELAXED); }
  };

  struct alignas(kMaxLineBytes) Slot {
    Counter update_commits, read_commits, user_aborts, lock_fallbacks, batches, bytes_stored,
        bytes_written, replayed;
    Counter aborts[kAbortCauses];
    Counter explicit_aborts[kAbortCodes];

    /// Ends a thread's aborted hardware transaction and counts it. Returns the cause.
    template <class Htm>
    AbortCause caught(Htm& htm) {
      const AbortCause cause = htm.caught();
      aborts[static_cast<size_t>(cause)] += 1;
      if (cause == AbortCause::explicit_abort) {
        explicit_aborts[static_cast<size_t>(htm.caught_code())] += 1;
      }
      return cause;
    }
  };

  Slot& here() { return at(machine_.self()); }
  Slot& at(int slot) {
    assert(slot >= 0);
    return slots_[static_cast<size_t>(slot)];
  }

  Statistics sum() const {
    Statistics s;
    for (const Slot& slot : slots_) {
      s.update_commits += slot.update_commits.read();
      s.read_commits += slot.read_commits.read();
      s.user_aborts += slot.user_aborts.read();
      s.lock_fallbacks += slot.lock_fallbacks.read();
      s.batches += slot.batches.read();
      s.bytes_stored += slot.bytes_stored.read();
      s.bytes_written += slot.bytes_written.read();
      s.replayed += slot.replayed.read();
      for (size_t i = 0; i < s.aborts.size(); ++i) {
        s.aborts[i] += slot.aborts[i].read();
      }
      for (size_t i = 0; i < s.explicit_aborts.size(); ++i) {
        s.explicit_aborts[i] += slot.explicit_aborts[i].read();
      }
    }
    return s;
  }

 private:
  M& machine_;
  std::vector<Slot> slots_;
};

}  // namespace holdfast
