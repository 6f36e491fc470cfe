// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// Where readers announce themselves to a writer: one counter per machine thread, two cache lines
/// apart, so that readers never write a line another reader writes. (Romulus 5.2; C-RW-WP calls it
/// the read indicator.)
///
/// A counter is odd while its thread is inside. A flag would do for safety; a counter lets the
/// writer tell "still the same visit" from "left and came back", so that it waits for each reader
/// at most once however often readers return.
template <class M>
class ReadIndicator {
 public:
  explicit ReadIndicator(M& machine)
      : machine_(machine),
        slots_(make_array<Slot>(machine, static_cast<size_t>(machine.slots()))) {}

  /// The store-load fence of a read-only transaction: whatever the caller loads from the writer's
  /// variables after this is loaded after the arrival is visible.
  void arrive(int slot) {
    auto& visits = slots_[slot].visits;
    // Relaxed: only this thread writes its counter.
    visits.store(visits.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }

  /// The same without the fence: the caller sees to it.
  void arrive_unfenced(int slot) {
    auto& visits = slots_[slot].visits;
    visits.store(visits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Release: the visitor's loads stand before it, so a writer that sees the counter even may
  /// overwrite what was read.
  void depart(int slot) {
    auto& visits = slots_[slot].visits;
    visits.store(visits.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// Waits until everybody who is inside now has left. The caller has stored, sequentially
  /// consistently, the variable that turns newcomers away: a visit this scan does not see arrived
  /// after that store and so sees it.
  void wait_for_present() {
    const int active = machine_.active_slots();
    for (int i = 0; i < active; ++i) {
      const auto& visits = slots_[i].visits;
      const uint64_t seen = visits.load(std::memory_order_seq_cst);
      if (seen % 2 == 1) {
        while (machine_.wait_while(visits, seen) == seen) {
        }
      }
    }
  }

 private:
  struct alignas(2 * kLineBytes) Slot {
    typename M::template Atomic<uint64_t> visits;
  };

  M& machine_;
  Slot* slots_;
};

}  // namespace holdfast
