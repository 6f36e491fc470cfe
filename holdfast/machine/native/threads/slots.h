// SPDX-License-Identifier: Apache-2.0
//
// Slots: which thread has which slot of which machine. Threads and machines end in any order, so
// they share ownership of the machine's table. The only global state is thread-local.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "holdfast/machine/native/threads/fork_guard.h"

namespace holdfast {
class ProbeCounts;
}

namespace holdfast::native {

/// The slots of one machine. Slot 0 belongs to the background thread, the others to ordinary
/// threads. The lowest slots are in use then, even with a background thread, and a scan of all
/// active slots stays short. Threads that find all others taken are guests, and use one slot in
/// turn: slot 0, or the last slot while a background thread exists or is expected. That one is then
/// kept for them, unless it is the only ordinary one. Thread safe.
class SlotTable {
 public:
  /// `probes` counts the rare paths that the machine's threads take; null: nothing does.
  explicit SlotTable(int ordinary, ProbeCounts* probes = nullptr)
      : probes_(probes), taken_(static_cast<size_t>(ordinary) + 1) {}

  int slots() const { return static_cast<int>(taken_.size()); }
  ProbeCounts* probes() const { return probes_; }
  static constexpr int kBackground = 0;

  /// The lowest free ordinary slot, or -1. Not the last one while it is kept for guests.
  int take();
  /// Takes slot 0 for the background thread. Returns false if a guest has it.
  bool take_background();
  /// Whether take_background() may come while other threads have slots. Guests then have no slot
  /// that the background thread will need, and no ordinary thread takes the one that they will.
  void expect_background(bool expected);
  /// Takes the guests' slot and returns it. Waits while another guest has it. Returns -1 if another
  /// thread has it: the background thread, or one that took it before a background thread was
  /// expected. A guest calls leave(slot) when it no longer needs the slot.
  int take_as_guest();
  void leave(int slot);
  /// Does nothing in a forked child, which may end a thread that had a slot.
  void give_back(int slot);

  /// All slots ever taken are below this number. Sequentially consistent, with the store in take():
  /// a scan of state arrays must not load it before the scanner's own fence. A scanner that sees a
  /// thread's state sees that thread's slot too.
  int active() const { return active_.load(); }

  /// Called when the machine ends; threads may forget the table then.
  void close() { closed_.store(true, std::memory_order_relaxed); }
  // Relaxed, both: the flag only decides when memory is freed, and orders no other access.
  bool closed() const { return closed_.load(std::memory_order_relaxed); }

 private:
  void mark_taken(size_t slot);
  bool keeps_last_for_guests() const {
    return (expects_background_ || taken_[kBackground]) && taken_.size() > 2;
  }

  ProbeCounts* const probes_;
  std::mutex mutex_;
  std::mutex guest_mutex_;  ///< the guest that has a slot holds it; taken before mutex_
  std::vector<bool> taken_;
  std::atomic<int> active_{0};
  std::atomic<bool> closed_{false};
  bool expects_background_ = false;
  const ForkGuard fork_guard_;  ///< in a child a thread that it lacks may hold mutex_
};

/// The thread-local state of a thread. Trivially destructible and constant-initialised, so that an
/// access is one thread-local load, without a guard.
struct ThreadState {
  void* context = nullptr;           ///< NativeMachine::context()
  const SlotTable* table = nullptr;  ///< the table of the machine that the thread used last
  ProbeCounts* probes = nullptr;     ///< the table's
  int slot = -1;                     ///< the thread's slot in that table
  bool exiting = false;              ///< the thread has returned its slots
};

// In a shared object (the Python module) the default model would cost a call per access. The
// initial-exec model takes a few bytes of the space that the loader reserves for it.
#if defined(__PIC__) && !defined(__PIE__)
#define HOLDFAST_TLS_MODEL [[gnu::tls_model("initial-exec")]]
#else
#define HOLDFAST_TLS_MODEL
#endif
HOLDFAST_TLS_MODEL inline constinit thread_local ThreadState thread_state;
#undef HOLDFAST_TLS_MODEL

/// The calling thread's slot in the table. Takes one if the thread has none; -1 if all are taken.
/// The slow path of self(), for a table that is not the one used last.
int find_or_take_slot(const std::shared_ptr<SlotTable>& table);

/// Lets the calling thread count rare paths for a machine that it opens and has no slot in yet.
/// Without that it would count those of recovery for the machine that it used last, which may have
/// ended.
void count_for(ProbeCounts* probes);

/// The calling thread's slot in the table, or -1 if it has none.
int find_slot(const SlotTable* table);

/// Gives the calling thread, for which find_or_take_slot has returned -1, a slot for the object's
/// lifetime. Waits while other guests have it.
class GuestSlot {
 public:
  explicit GuestSlot(const std::shared_ptr<SlotTable>& table);
  GuestSlot(const GuestSlot&) = delete;
  GuestSlot& operator=(const GuestSlot&) = delete;
  ~GuestSlot();

  /// Returns false if there is no slot for guests.
  bool taken() const { return slot_ >= 0; }

 private:
  const std::shared_ptr<SlotTable>& table_;
  int slot_ = -1;
};

/// The calling thread, which has no slot yet, has the background slot from here on. It has been
/// taken for this thread.
void hold_background_slot(const std::shared_ptr<SlotTable>& table);

}  // namespace holdfast::native
