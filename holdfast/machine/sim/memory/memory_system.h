// SPDX-License-Identifier: Apache-2.0
//
// What happens to a memory operation of the current thread: scheduling point, store buffer,
// hardware transactional memory, persistence, waiters. Reading order: load, store, leave, publish.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "holdfast/base/function_ref.h"
#include "holdfast/machine/double_word.h"
#include "holdfast/machine/sim/htm/htm_unit.h"
#include "holdfast/machine/sim/medium/arena.h"
#include "holdfast/machine/sim/medium/persistence.h"
#include "holdfast/machine/sim/medium/sim_medium.h"
#include "holdfast/machine/sim/memory/design_host.h"
#include "holdfast/machine/sim/memory/persist_lint.h"
#include "holdfast/machine/sim/memory/timed_memory.h"
#include "holdfast/machine/sim/threads/runner.h"
#include "holdfast/machine/sim/threads/wait_table.h"

namespace holdfast::sim {

class MemorySystem final : private StoreBufferOwner, private HtmListener, private DesignPower {
 public:
  /// design: null for a machine without one; needs a timed machine.
  MemorySystem(const SimOptions& options, const Arena& arena, SimMedium& medium,
               Persistence& persistence, Runner::Threads& threads, Runner& runner,
               HardwareDesign* design);

  StoreBufferOwner& as_buffer_owner() { return *this; }
  /// The address of a shared word; throws Error(misuse) when it is not in the machine's memory.
  static uintptr_t checked(const void* p);

  // Operations of the current thread on the arena.
  uint64_t load(uintptr_t address, size_t size);
  void store(uintptr_t address, size_t size, uint64_t bits);
  void copy(void* to, const void* from, size_t n);
  /// memory_nontemporal.cc.
  void store_nontemporal(void* to, const void* from, size_t n, Site site);
  /// change(old, fresh) returns whether to store `fresh`. Returns the old value.
  uint64_t read_modify_write(uintptr_t address, size_t size,
                             FunctionRef<bool(uint64_t old, uint64_t& fresh)> change);
  /// memory_double_word.cc.
  bool compare_exchange(DoubleWord* at, DoubleWord& expected, const DoubleWord& desired);
  /// Empties the store buffer; what follows a sequentially consistent store.
  void store_load_fence();
  void pwb(uintptr_t address);
  void pfence();
  void psync();
  void fence();
  /// The asymmetric pair. Functional: light is nothing, heavy makes every thread's stores so far
  /// visible. Timed: both are full fences, as on a computer without a way to interrupt the others.
  void light_fence();
  void heavy_fence();
  /// Blocks until a store to the line of `address` becomes visible. False: without having waited,
  /// because the thread's transaction is doomed.
  bool wait(uintptr_t address);
  /// The current thread's loads so far return before it goes on.
  void await_loads() {
    if (timed_ != nullptr) {
      timed_->await_loads(*current_thread);
    }
  }
  void point(Op op, uintptr_t address = 0) { runner_.point(*current_thread, op, address); }
  void pause();
  /// Private computation of the current thread.
  void work(uint64_t cycles);

  /// Operations between these take time, if the machine is timed.
  void start_run(int workers);
  /// With a hardware design operations in between take time as well: it has no other state than
  /// that of its buffers and caches.
  void end_run() {
    if (timed_ != nullptr && !frozen_) {
      timed_->send_all_combined();
    }
    timed_ = design_ != nullptr ? timing_.get() : nullptr;
  }
  TimedMemory* timing() { return timing_.get(); }

  /// Who wants to hear of stores and of fences that complete; null: nobody.
  void attach(PersistLint* lint) { lint_ = lint; }

  // Transactions of the hardware design; memory_design.cc.
  void tx_start();
  void tx_commit();
  void tx_abort();
  const DesignHost* design() const { return design_.get(); }

  // Hardware transactional memory.
  void begin(SimThread& thread, Tracking tracking);
  void suspend(SimThread& thread);
  void resume(SimThread& thread);
  void track(SimThread& thread, Tracking tracking);
  void commit(SimThread& thread);
  [[noreturn]] void abort(SimThread& thread);
  AbortCause caught(SimThread& thread);
  void cancel(SimThread& thread);

  // Failure.
  const Status& failure() const { return failure_; }
  void check_failure() const;
  uint64_t persist_events() const { return events_; }
  void crash_at(uint64_t event) { crash_at_ = event; }
  void before_persist_event(std::function<void(uint64_t)> look) { look_ = std::move(look); }
  bool crashed() const { return crashed_; }
  /// No thread but the caller exists any more: their transactions and buffers are gone.
  void forget_threads();
  /// The medium keeps what it has; everything that could wait throws from now on.
  void freeze(const Status& why);

 private:
  void leave_oldest(int slot) override { leave_oldest(slot, false); }
  void leave_oldest(int slot, bool now_or_never);
  bool design_admits(SimThread& thread, bool now_or_never);
  DesignHost& needed_design();
  void design_persist_event() override { persist_event(); }
  bool power_is_gone() const override { return frozen_; }
  void design_changed(uint32_t line) override { announce(*current_thread, line); }
  void on_doomed(int slot) override;
  void on_released(int slot, const Transaction& tx, bool aborted) override;

  uint32_t line_of(uintptr_t address) const {
    return static_cast<uint32_t>((address - kArenaBase) >> line_shift_);
  }
  uint64_t load_timed(SimThread& thread, uintptr_t address, size_t size);
  uint64_t load_pieces(uintptr_t address, size_t size);
  uint64_t visible(SimThread& thread, uintptr_t word);
  bool touch(SimThread& thread, uint32_t line);
  void enqueue(SimThread& thread, const MaskedWord& word, EntryKind kind);
  void make_room(SimThread& thread);
  void drain(SimThread& thread);
  void leave_all(SimThread& thread);
  void publish(SimThread& thread, const MaskedWord& word);
  void write(SimThread& thread, const MaskedWord& word, bool same_instant);
  bool goes_around_caches(uintptr_t address) const;
  void publish_around_caches(SimThread& thread, const MaskedWord& word);
  void request_write_back(SimThread& thread, uintptr_t address);
  void announce(SimThread& thread, uint32_t line);
  void throw_if_doomed(SimThread& thread) {
    if (thread.tx->doomed() || (timed_ != nullptr && timed_->interrupted(thread))) [[unlikely]] {
      learn_of_doom(thread);
    }
  }
  void learn_of_doom(SimThread& thread);
  void complete_write_backs(SimThread& thread);
  void sync(SimThread& thread, bool may_fail);
  void persist_event();
  void crash();

  const SimOptions& options_;
  SimMedium& medium_;
  Persistence& persistence_;
  Runner::Threads& threads_;
  Runner& runner_;
  HtmUnit htm_;
  std::unique_ptr<TimedMemory> timing_;  ///< null: the functional machine
  TimedMemory* timed_ = nullptr;         ///< the same during a run, else null
  std::unique_ptr<DesignHost> design_;   ///< null: none
  PersistLint* lint_ = nullptr;          ///< null: nobody looks on
  WaitTable waiters_;
  int line_shift_;
  Status failure_;
  bool frozen_ = false;
  bool crashed_ = false;
  bool no_events_ = false;  ///< what happens now is no persist event
  uint64_t events_ = 0;
  uint64_t crash_at_ = kNever;
  std::function<void(uint64_t)> look_;  ///< called before each persist event; may be empty
  uint64_t syncs_ = 0;
};

}  // namespace holdfast::sim
