// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <vector>

#include "holdfast/machine/types.h"

namespace holdfast::native {

/// Keeps all stores to a heap away for a moment, while a thread changes how its pages are mapped. A
/// thread is inside from before its first store of an update until after its last one.
///
/// A thread that is inside may wait for another one, which the closed gate keeps out. So close()
/// gives up after a while, and the gate opens again.
///
/// Thread safety: each slot is one thread's. One thread at a time calls close() and open(). Cost:
/// enter() and leave() are two stores and a load; enter() sleeps while the gate is closed.
class StoreGate {
 public:
  explicit StoreGate(int slots) : inside_(static_cast<size_t>(slots)) {}

  /// Scopes of one slot nest.
  void enter(int slot) {
    std::atomic<int>& mine = inside_[static_cast<size_t>(slot)].count;
    const int before = mine.load(std::memory_order_relaxed);  // only this thread stores it
    mine.store(before + 1);
    // Both here and in close() the own flag is stored before the other one is loaded, sequentially
    // consistent. So at least one of the two threads sees the other.
    while (before == 0 && closed_.load()) [[unlikely]] {
      mine.store(0);
      closed_.wait(true);
      mine.store(1);
    }
  }
  /// Release: close() sees the stores of this thread.
  void leave(int slot) {
    std::atomic<int>& mine = inside_[static_cast<size_t>(slot)].count;
    mine.store(mine.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  }

  /// Closes the gate. Returns true when no thread is inside, or false, with an open gate, if some
  /// are still there after this time.
  bool close(std::chrono::microseconds patience);
  void open();

 private:
  struct alignas(kMaxLineBytes) Slot {
    std::atomic<int> count{0};
  };

  std::vector<Slot> inside_;
  alignas(kMaxLineBytes) std::atomic<bool> closed_{false};
};

}  // namespace holdfast::native
