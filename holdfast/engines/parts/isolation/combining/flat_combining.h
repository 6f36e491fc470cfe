// SPDX-License-Identifier: Apache-2.0
//
// Flat combining (Hendler, Incze, Shavit, Tzafrir, SPAA 2010; Romulus 5.2): whoever gets the lock
// runs everybody's announced requests as one batch, so that the cost of a batch (here: four
// persistence fences) is shared.
//
//   requester   lock free: take it, serve a batch with the own request first.
//               lock taken: announce the request in the own slot, wait on that slot only.
//   combiner    serve own request, then every announced one; make the batch durable; answer.
//   unlock      a request announced too late for the batch gets the lock handed over, so that
//               nobody sleeps beside a free lock.
//
// No requester starves: whoever holds the lock scans all slots, so a request waits for at most the
// running batch and the next one.
#pragma once

#include <array>
#include <exception>

#include "holdfast/engines/engine.h"

namespace holdfast {

template <class M>
class FlatCombining {
 public:
  struct Request {
    FunctionRef<void()> body;
    Context::Mode mode = Context::Mode::update;
    std::exception_ptr error;  // what the body, or the whole batch, failed with
  };

  /// With combine false every thread serves only itself: a plain lock, for comparison.
  FlatCombining(M& machine, bool combine)
      : machine_(machine),
        combine_(combine),
        lock_(make_array<Word>(machine, 1)),
        slots_(make_array<Slot>(machine, static_cast<size_t>(machine.slots()))) {}

  /// Returns when the request has been served, by serve(request) on this thread or on another.
  /// serve is called by one thread at a time; it calls take_others() and answer(). What it throws
  /// is a failure of the machine: the lock stays taken and every request of the batch gets it.
  template <class Serve>
  void execute(int slot, Request& request, Serve&& serve) {
    if (!try_lock() && served_by_another(slot, request)) {
      return;
    }
    std::exception_ptr failure;
    try {
      serve(request);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) [[unlikely]] {
      fail_batch(failure);
      std::rethrow_exception(failure);
    }
    unlock(slot);
  }

  /// For serve: calls run(request) for every announced request but the own.
  template <class Run>
  void take_others(int self, Run&& run) {
    if (!combine_) {
      return;
    }
    const int active = machine_.active_slots();
    for (int i = 0; i < active; ++i) {
      if (i != self && change(slots_[i], kAnnounced, kTaken)) {
        taken_[taken_count_++] = i;
        run(*slots_[i].request);
      }
    }
  }

  /// For serve: lets the requesters of the batch go on. Their effects are durable and visible.
  void answer() {
    for (size_t i = 0; i < taken_count_; ++i) {
      // Release: the requester sees its request's result.
      slots_[taken_[i]].state.store(kServed, std::memory_order_release);
    }
    taken_count_ = 0;
  }

 private:
  // States of a slot.
  static constexpr uint64_t kIdle = 0;
  static constexpr uint64_t kAnnounced = 1;  // the requester may still withdraw
  static constexpr uint64_t kTaken = 2;      // a combiner is using the request
  static constexpr uint64_t kServed = 3;
  static constexpr uint64_t kLeading = 4;  // the requester holds the lock now

  struct alignas(2 * kLineBytes) Word {
    typename M::template Atomic<uint64_t> value;
  };
  struct alignas(2 * kLineBytes) Slot {
    typename M::template Atomic<uint64_t> state;
    Request* request = nullptr;  // written before kAnnounced, read after
  };

  bool try_lock() {
    // The load keeps a crowd from passing the line around. Sequentially consistent, see unlock().
    uint64_t expected = 0;
    return lock_->value.load(std::memory_order_seq_cst) == 0 &&
           lock_->value.compare_exchange(expected, 1);
  }

  bool change(Slot& slot, uint64_t from, uint64_t to) {
    // Sequentially consistent, see unlock(); the load spares idle slots a locked instruction.
    return slot.state.load(std::memory_order_seq_cst) == from &&
           slot.state.compare_exchange(from, to);
  }

  void unlock(int self) {
    for (;;) {
      // Announcing stores the slot, then looks at the lock; unlocking stores the lock, then looks
      // at the slots; both sequentially consistent. So either the requester sees the free lock or
      // the request is seen here.
      lock_->value.exchange(0);
      const int next = find_announced(self);
      if (next < 0 || !try_lock()) {
        return;  // nobody waits, or a new combiner is at work, which will look in its turn
      }
      if (change(slots_[next], kAnnounced, kLeading)) {
        return;
      }
    }
  }

  /// The next announced slot after `self`, or -1.
  int find_announced(int self) const {
    const int active = machine_.active_slots();
    for (int i = 1; i <= active; ++i) {
      const int slot = (self + i) % active;
      if (slots_[slot].state.load(std::memory_order_seq_cst) == kAnnounced) {
        return slot;
      }
    }
    return -1;
  }

  /// True: served. False: this thread holds the lock and must serve itself.
  bool served_by_another(int self, Request& request) {
    const PhaseScope<M> waiting(Phase::lock_wait);
    Slot& slot = slots_[self];
    slot.request = &request;
    slot.state.store(kAnnounced, std::memory_order_seq_cst);
    if (try_lock()) {
      // Requests are taken and served under the lock only, so the state cannot change any more.
      const bool served = slot.state.load(std::memory_order_acquire) == kServed;
      slot.state.store(kIdle, std::memory_order_relaxed);  // only this thread announces here
      if (served) {
        unlock(self);
      }
      return served;
    }
    const uint64_t state = wait_for_answer(slot);
    slot.state.store(kIdle, std::memory_order_relaxed);
    return state == kServed;
  }

  /// kServed or kLeading; throws MediumFailure, but never while a combiner may be using the
  /// request, which lives on this thread's stack.
  uint64_t wait_for_answer(Slot& slot) {
    std::exception_ptr failure;
    uint64_t state = kAnnounced;
    try {
      while (state == kAnnounced || state == kTaken) {
        state = machine_.wait_while(slot.state, state);
      }
    } catch (const MediumFailure&) {
      failure = std::current_exception();
    }
    if (failure) {
      state = abandon(slot);
      if (state != kServed) {
        std::rethrow_exception(failure);
      }
    }
    return state;
  }

  uint64_t abandon(Slot& slot) {
    uint64_t state = kAnnounced;
    if (slot.state.compare_exchange(state, kIdle)) {
      return kIdle;
    }
    while ((state = slot.state.load(std::memory_order_acquire)) == kTaken) {
      machine_.pause();  // waits of the machine throw by now
    }
    return state;
  }

  void fail_batch(const std::exception_ptr& failure) {
    for (size_t i = 0; i < taken_count_; ++i) {
      slots_[taken_[i]].request->error = failure;
    }
    answer();
  }

  M& machine_;
  const bool combine_;
  Word* lock_;
  Slot* slots_;
  // The running batch; under the lock.
  std::array<int, kMaxThreads> taken_{};
  size_t taken_count_ = 0;
};

}  // namespace holdfast
