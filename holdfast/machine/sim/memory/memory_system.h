// SPDX-License-Identifier: Apache-2.0
//
// sim/memory/: the memory system of the simulated machine. It takes each memory operation of the
// current thread through its steps: scheduling point, store buffer, hardware transactions,
// persistence, waiters. Reading order in memory_system.cc: load, store, leave_oldest, publish.
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
#include "holdfast/machine/sim/threads/thread_runner.h"
#include "holdfast/machine/sim/threads/wait_table.h"

namespace holdfast::sim {

/// The memory system of one machine. Its sources: memory_system.cc (loads, stores, store buffers),
/// memory_persist.cc, memory_htm.cc, memory_nontemporal.cc, memory_double_word.cc,
/// memory_design.cc.
///
/// Thread safety: one host thread. Operations belong to the current simulated thread.
class MemorySystem final : private StoreBufferOwner, private HtmListener, private DesignPower {
 public:
  /// `design` is null for a machine without one. A design needs a timed machine.
  MemorySystem(const SimOptions& options, const Arena& arena, SimMedium& medium,
               Persistence& persistence, ThreadRunner::Threads& threads, ThreadRunner& runner,
               HardwareDesign* design, const HardwareDesign* witness);

  StoreBufferOwner& as_buffer_owner() { return *this; }
  /// The address of a shared word. Throws Error(misuse) if it is not in the machine's memory.
  static uintptr_t checked(const void* p);

  // ---- Operations of the current thread on the arena
  uint64_t load(uintptr_t address, size_t size);
  void store(uintptr_t address, size_t size, uint64_t bits);
  void copy(void* to, const void* from, size_t n);
  void store_nontemporal(void* to, const void* from, size_t n, Site site);
  /// change(old, fresh) sets `fresh` and returns whether to store it. Returns the old value.
  uint64_t read_modify_write(uintptr_t address, size_t size,
                             FunctionRef<bool(uint64_t old, uint64_t& fresh)> change);
  bool compare_exchange(DoubleWord* at, DoubleWord& expected, const DoubleWord& desired);
  /// Empties the thread's store buffer, as after a sequentially consistent store.
  void store_load_fence();
  void pwb(uintptr_t address);
  void pfence();
  void psync();
  /// With a journal; see machine.h.
  void begin_psync();
  void await_durable(uint64_t position);
  void fence();
  /// The asymmetric pair. On the functional machine the light fence does nothing, and the heavy one
  /// makes the stores of all threads visible. On a timed machine both are full fences, as on a
  /// computer where a thread cannot interrupt the others.
  void light_fence();
  void heavy_fence();
  /// Blocks the thread until a store to the line of `address` becomes visible. Returns false
  /// without waiting if the thread's transaction is doomed.
  bool wait(uintptr_t address);
  /// The current thread waits until its loads so far have returned.
  void await_loads() {
    if (timed_ != nullptr) {
      timed_->await_loads(*current_thread);
    }
  }
  void point(Op op, uintptr_t address = 0) { runner_.point(*current_thread, op, address); }
  void pause();
  void sleep_until(Time time);
  /// Private computation of the current thread.
  void work(uint64_t cycles);

  /// From start_run() to end_run() operations take time, if the machine is timed.
  void start_run(int workers);
  /// With a hardware design, operations take time after the run too, because the design has no
  /// other state than its buffers and the caches.
  void end_run() {
    if (timed_ != nullptr && !frozen_) {
      timed_->send_all_combined();
    }
    timed_ = design_ != nullptr ? timing_.get() : nullptr;
    if (design_ != nullptr && current_thread != nullptr) {
      design_->pump(current_thread->clock);
    }
  }
  TimedMemory* timing() { return timing_.get(); }
  const TimedMemory* timing() const { return timing_.get(); }

  /// Sets the lint, which learns of stores and of fences that complete.
  void attach(PersistLint* lint) { lint_ = lint; }

  // ---- Transactions of the hardware design
  void tx_start();
  void tx_commit();
  AbortCause tx_abort();
  /// The current thread has caught HtmAbort: the design had aborted its transaction.
  AbortCause tx_caught();
  const DesignHost* design() const { return design_.get(); }
  /// Loads what an earlier machine with the design has left behind. Until power_on() the medium
  /// refuses its use.
  void load(DesignRemains remains);
  void power_on();
  /// Outside a run: waits until the design has brought its content to its place.
  void settle_design();

  // ---- Hardware transactions; see HtmThread in machine.h
  void begin(SimThread& thread, Tracking tracking);
  void suspend(SimThread& thread);
  void resume(SimThread& thread);
  void track(SimThread& thread, Tracking tracking);
  void commit(SimThread& thread);
  [[noreturn]] void abort(SimThread& thread, AbortCode code);
  AbortCause caught(SimThread& thread);
  void cancel(SimThread& thread);

  // ---- Failure
  const Status& failure() const { return failure_; }
  /// Throws MediumFailure if the medium has failed.
  void check_failure() const;
  uint64_t persist_events() const { return events_; }
  void crash_at(uint64_t event) { crash_at_ = event; }
  void before_persist_event(std::function<void(uint64_t)> look) { look_ = std::move(look); }
  void at_epoch_end(std::function<void()> look) { at_epoch_end_ = std::move(look); }
  bool crashed() const { return crashed_; }
  /// The simulated threads have ended. Drops their transactions and store buffers.
  void forget_threads();
  /// The medium has failed: its content does not change any more, and all fences and waits throw
  /// MediumFailure.
  void freeze(const Status& why);

 private:
  void leave_oldest(int slot) override { leave_oldest(slot, false); }
  void leave_oldest(int slot, bool now_or_never);
  bool design_admits(SimThread& thread, bool now_or_never);
  DesignHost& needed_design();
  void design_persist_event() override { persist_event(); }
  bool power_is_gone() const override { return frozen_; }
  void design_failed(const Status& why) override { freeze(why); }
  void design_changed(uint32_t line) override { announce(*current_thread, line); }
  void design_doomed(int slot) override;
  void design_epoch_ended() override;
  void throw_if_design_doomed(const SimThread& thread) const {
    if (thread.doomed != AbortCause::none) [[unlikely]] {
      throw HtmAbort{};
    }
  }
  /// Tells a design that isolates transactions of a load, just before it takes the value.
  void note_load(const SimThread& thread, uint32_t line) {
    if (design_ != nullptr && design_->isolates()) [[unlikely]] {
      design_->loaded(thread, line, thread.clock);
    }
  }
  void on_doomed(int slot) override;
  void on_released(int slot, const Transaction& tx, bool aborted) override;

  uint32_t line_of(uintptr_t address) const {
    return static_cast<uint32_t>((address - kArenaBase) >> line_shift_);
  }
  /// True if no other thread acts, no store waits in the buffer, and operations take no time: the
  /// thread loads what is in memory.
  bool loads_alone(const SimThread& thread) const {
    return timed_ == nullptr && !runner_.running() && !thread.tx->open && thread.buffer.empty();
  }
  /// True if a store or write-back may skip the store buffer, because it would leave at once. At
  /// the event of a crash it does not leave.
  bool stores_alone(const SimThread& thread) const {
    return loads_alone(thread) && design_ == nullptr && lint_ == nullptr && events_ != crash_at_;
  }
  void store_alone(SimThread& thread, const MaskedWord& word);
  uint64_t load_in_run(SimThread& thread, uintptr_t address, size_t size);
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
  void append(SimThread& thread);
  void begin_sync();
  void persist_event();
  void crash();

  const SimOptions& options_;
  SimMedium& medium_;
  Persistence& persistence_;
  ThreadRunner::Threads& threads_;
  ThreadRunner& runner_;
  HtmUnit htm_;
  std::unique_ptr<TimedMemory> timing_;  ///< null: the functional machine
  TimedMemory* timed_ = nullptr;         ///< timing_ during a run, else null
  std::unique_ptr<DesignHost> design_;   ///< null: none
  PersistLint* lint_ = nullptr;          ///< null: none
  WaitTable waiters_;
  int line_shift_;
  Status failure_;
  bool frozen_ = false;
  bool crashed_ = false;
  bool no_events_ = false;  ///< changes of the medium are no persist events now
  bool starting_ = false;   ///< power_on() runs
  uint64_t events_ = 0;
  uint64_t crash_at_ = kNever;
  std::function<void(uint64_t)> look_;  ///< called before each persist event; may be empty
  std::function<void()> at_epoch_end_;  ///< called at the end of each epoch; may be empty
  uint64_t syncs_ = 0;
};

}  // namespace holdfast::sim
