// SPDX-License-Identifier: Apache-2.0
//
// Knows which transactions of a heap run, so that compaction can wait for the older ones.
#pragma once

#include <type_traits>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/isolation/combining/read_indicator.h"

namespace holdfast {

/// The transactions that run on a heap. A transaction that began before an object was freed may
/// still load from it, and its engine validates what it loads by the stores of others. So what
/// changes the object's bytes by other means than stores waits for such transactions first.
///
/// Counts nothing where nothing changes bytes so (a medium that gives no space back), and for an
/// engine whose updates wait for the older transactions anyway.
///
/// Thread safety: all threads, and one at a time in await_older().
template <class E>
class RunningTransactions {
  using Machine = typename E::Machine;
  static constexpr bool kCounts =
      requires(Machine& m) { m.medium().allocated_bytes(); } && !updates_await_older<E>();

  struct Nothing {
    explicit Nothing(Machine& /*machine*/) {}
  };

 public:
  explicit RunningTransactions(Machine& machine) : machine_(machine), indicator_(machine) {}

  /// Counts this thread's transaction while it exists. The thread has a slot, and waits for no
  /// compaction meanwhile.
  class Stay {
   public:
    explicit Stay(RunningTransactions& running) : running_(running) {
      if constexpr (kCounts) {
        slot_ = running_.machine_.self();
        running_.indicator_.arrive_unfenced(slot_);
        running_.machine_.light_fence();  // before the transaction looks at anything
      }
    }
    ~Stay() {
      if constexpr (kCounts) {
        running_.indicator_.depart(slot_);
      }
    }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    RunningTransactions& running_;
    int slot_ = 0;
  };

  /// Waits for the transactions that began before an update of this thread ended. Outside a
  /// transaction.
  void await_older() {
    if constexpr (kCounts) {
      machine_.heavy_fence(Site{"heap.older.fence"});
      indicator_.wait_for_present();
    }
  }

 private:
  Machine& machine_;
  [[no_unique_address]] std::conditional_t<kCounts, ReadIndicator<Machine>, Nothing> indicator_;
};

}  // namespace holdfast
