// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// Counters by which readers announce themselves to a writer: one per machine thread, two cache
/// lines apart, so that no reader writes a line that another reader writes. (Romulus 5.2; C-RW-WP
/// calls it the read indicator.)
///
/// A counter is odd while its thread is inside. A flag would be safe as well. A counter also
/// distinguishes the same visit from a later one, so the writer waits for each reader at most once,
/// however often the reader returns.
///
/// Thread safety: a thread changes only its own counter; one writer at a time waits.
template <class M>
class ReadIndicator {
 public:
  explicit ReadIndicator(M& machine)
      : machine_(machine),
        slots_(make_array<Slot>(machine, static_cast<size_t>(machine.slots()))) {}

  /// Arrives with a store-load fence: the caller's later loads of the writer's variables come after
  /// the arrival is visible.
  void arrive(int slot) {
    auto& visits = slots_[slot].visits;
    // Relaxed load: only this thread writes its counter.
    visits.store(visits.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }

  /// Arrives without the fence, which the caller executes. Relaxed for that reason.
  void arrive_unfenced(int slot) {
    auto& visits = slots_[slot].visits;
    visits.store(visits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Release: a writer that sees the counter even may overwrite the values the reader has loaded.
  void depart(int slot) {
    auto& visits = slots_[slot].visits;
    // Relaxed load: as in arrive().
    visits.store(visits.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// Waits until every reader that is inside now has left. Before, the caller has stored,
  /// sequentially consistently, the variable that turns new readers away. A reader that this scan
  /// misses has arrived after that store, and so sees it.
  void wait_for_present() {
    for (const int i : machine_.scan(machine_.slots(), Site{"readers.present"})) {
      const auto& visits = slots_[i].visits;
      const uint64_t seen = visits.load(std::memory_order_seq_cst);
      if (seen % 2 == 1) {
        while (machine_.wait_while(visits, seen) == seen) {
        }
      }
    }
  }

 private:
  struct alignas(kMaxLineBytes) Slot {
    typename M::template Atomic<uint64_t> visits;
  };

  M& machine_;
  Slot* slots_;
};

}  // namespace holdfast
