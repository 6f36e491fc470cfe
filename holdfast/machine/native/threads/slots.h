// SPDX-License-Identifier: Apache-2.0
//
// Which thread has which slot of which machine. Threads and machines end in any order, so what both
// need is a table that both share; there is nothing global but each thread's own state.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace holdfast::native {

/// The slots of one machine: slot 0 for its background thread, the others for everyone else.
/// The first, so that with a background thread the slots in use are still the lowest, and a scan of
/// all active slots stays short. Thread safe.
class SlotTable {
 public:
  explicit SlotTable(int ordinary) : taken_(static_cast<size_t>(ordinary) + 1) {}

  int slots() const { return static_cast<int>(taken_.size()); }
  static constexpr int kBackground = 0;

  /// The lowest free ordinary slot, or -1.
  int take();
  void take_background();
  void give_back(int slot);

  /// All slots ever taken are below this. Acquire pairs with the release in take(): who sees a
  /// thread's state sees that thread's slot as well.
  /// Sequentially consistent: a scan of state arrays must not read it before the scanner's own
  /// fence.
  int active() const { return active_.load(); }

  /// The machine is gone; threads may forget the table.
  void close() { closed_.store(true, std::memory_order_relaxed); }
  // Relaxed: it only decides when memory is freed.
  bool closed() const { return closed_.load(std::memory_order_relaxed); }

 private:
  void mark_taken(size_t slot);

  std::mutex mutex_;
  std::vector<bool> taken_;
  std::atomic<int> active_{0};
  std::atomic<bool> closed_{false};
};

/// Everything a thread knows by itself. Trivially destructible and constant-initialised, so that an
/// access is one thread-local load, without a guard.
struct ThreadState {
  void* context = nullptr;           ///< NativeMachine::context()
  const SlotTable* table = nullptr;  ///< of the machine used last
  int slot = -1;                     ///< there
  bool exiting = false;              ///< the slots have been returned
};

// In a shared object (the Python module) the default would be a call per access. Initial-exec takes
// a few bytes of the space the loader keeps for this.
#if defined(__PIC__) && !defined(__PIE__)
#define HOLDFAST_TLS_MODEL [[gnu::tls_model("initial-exec")]]
#else
#define HOLDFAST_TLS_MODEL
#endif
HOLDFAST_TLS_MODEL inline constinit thread_local ThreadState thread_state;
#undef HOLDFAST_TLS_MODEL

/// The calling thread's slot in the table, taken if it has none; -1 when all are taken.
/// What self() does when the table is not the one used last.
int find_or_take_slot(const std::shared_ptr<SlotTable>& table);

/// The calling thread's slot in the table, or -1 if it has none.
int find_slot(const SlotTable* table);

/// Gives the calling thread, which must have none, the background slot.
void take_background_slot(const std::shared_ptr<SlotTable>& table);

}  // namespace holdfast::native
