// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/common/read_indicator.h"

namespace holdfast {

/// The reader side of a reader-writer lock with writer preference (C-RW-WP: Calciu and others,
/// PPoPP 2013; Romulus 5.2). Writers exclude each other by other means: here by flat combining.
///
/// A reader costs one store-load fence and touches no line that another reader writes. The writer's
/// phase is odd while readers are kept out; it counts, so that a reader asleep on it notices even a
/// gap between two writers that was over before it woke.
template <class M>
class Crwwp {
 public:
  /// Attempts of a reader before it gives up. A writer may overtake a reader each time it wakes;
  /// this bounds how often.
  static constexpr int kPatience = 4;

  explicit Crwwp(M& machine)
      : machine_(machine), readers_(machine), phase_(make_array<Phase>(machine, 1)) {}

  /// False when writers were faster kPatience times in a row: let the writer do the reading then.
  bool enter(int slot) {
    for (int patience = kPatience; patience > 0; --patience) {
      readers_.arrive(slot);
      // Sequentially consistent, after the arrival: either the writer's scan sees the arrival or
      // this load sees the writer's phase (both, harmlessly).
      const uint64_t phase = phase_->value.load(std::memory_order_seq_cst);
      if (phase % 2 == 0) {
        return true;
      }
      readers_.depart(slot);
      machine_.wait_while(phase_->value, phase);
    }
    return false;
  }

  void leave(int slot) { readers_.depart(slot); }

  /// Turns readers away and waits for those inside. One writer at a time.
  void exclude() {
    // Relaxed: only the writer changes the phase, and writers are ordered by their own lock.
    const uint64_t phase = phase_->value.load(std::memory_order_relaxed);
    phase_->value.store(phase + 1, std::memory_order_seq_cst);
    readers_.wait_for_present();
  }

  /// Release: whoever sees the new phase sees what the writer stored.
  void admit() {
    const uint64_t phase = phase_->value.load(std::memory_order_relaxed);
    phase_->value.store(phase + 1, std::memory_order_release);
  }

 private:
  struct alignas(2 * kLineBytes) Phase {
    typename M::template Atomic<uint64_t> value;
  };

  M& machine_;
  ReadIndicator<M> readers_;
  Phase* phase_;
};

}  // namespace holdfast
