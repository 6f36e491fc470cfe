// SPDX-License-Identifier: Apache-2.0
//
// Flat combining (Hendler, Incze, Shavit, Tzafrir, SPAA 2010; Romulus 5.2). The thread that gets
// the lock runs all announced requests as one batch, so that they share the batch's cost (here:
// four persistence fences).
//
//   requester   lock free: take it, serve a batch with the own request first.
//               lock taken: announce the request in the own slot, wait on that slot only.
//   combiner    serve the own request, then every announced one; make the batch durable; answer.
//   unlock      a request announced too late for the batch receives the lock, so that no thread
//               sleeps beside a free lock.
//
// No requester starves: every combiner scans all slots, so a request waits for at most the running
// batch and the next one.
#pragma once

#include <array>
#include <exception>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// The lock and the slots. All threads may call execute() at once, each with its own slot.
template <class M>
class FlatCombining {
 public:
  struct Request {
    FunctionRef<void()> body;
    Context::Mode mode = Context::Mode::update;
    Commit commit = Commit::unsaid;
    bool barrier = false;      // no transaction runs at one instant before the answer
    std::exception_ptr error;  // exception that left the body, or failed the whole batch
    uint64_t position = 0;     // the machine's: the answer holds once this is durable
  };

  /// If `combine` is false, every thread serves only itself: a plain lock, for comparison.
  FlatCombining(M& machine, bool combine)
      : machine_(machine),
        combine_(combine),
        lock_(make_object<Word>(machine)),
        slots_(make_array<Slot>(machine, static_cast<size_t>(machine.slots()))) {}

  /// Returns when this thread or another has served the request by serve(request). One thread at a
  /// time calls serve, which calls take_others() and answer(). An exception of serve means that the
  /// machine has failed: the lock stays taken and every request of the batch gets the exception.
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

  /// For serve: takes every other announced request and calls run(request) for it.
  template <class Run>
  void take_others(int self, Run&& run) {
    if (!combine_) {
      return;
    }
    const int active = machine_.active_slots();
    for (int i = 0; i < active; ++i) {
      if (i != self && change(slots_[i], kAnnounced, kTaken)) {
        M::reach(Probe{"combining.takes"});
        taken_[taken_count_++] = i;
        run(*slots_[i].request);
      }
    }
  }

  /// For serve: wakes the requesters of the batch. Their effects are visible, and durable once this
  /// position is.
  void answer(uint64_t position) {
    for (size_t i = 0; i < taken_count_; ++i) {
      slots_[taken_[i]].request->position = position;
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

  struct alignas(kMaxLineBytes) Word {
    typename M::template Atomic<uint64_t> value;
  };
  struct alignas(kMaxLineBytes) Slot {
    typename M::template Atomic<uint64_t> state;
    Request* request = nullptr;  // stored before kAnnounced, loaded after
  };

  bool try_lock() {
    // The load avoids moving the line between all waiting threads. Sequentially consistent: see
    // unlock().
    uint64_t expected = 0;
    return lock_->value.load(std::memory_order_seq_cst) == 0 &&
           lock_->value.compare_exchange(expected, 1);
  }

  bool change(Slot& slot, uint64_t from, uint64_t to) {
    // Sequentially consistent: see unlock(). The load saves a locked instruction for idle slots.
    return slot.state.load(std::memory_order_seq_cst) == from &&
           slot.state.compare_exchange(from, to);
  }

  void unlock(int self) {
    for (;;) {
      // A requester stores its slot, then loads the lock. This thread stores the lock, then loads
      // the slots. Both are sequentially consistent, so either the requester sees the lock free, or
      // this thread sees the request.
      lock_->value.exchange(0);
      const int next = find_announced(self);
      if (next < 0 || !try_lock()) {
        return;  // no thread waits, or a new combiner is at work, which will scan at its end
      }
      if (change(slots_[next], kAnnounced, kLeading)) {
        M::reach(Probe{"combining.leads_next"});
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

  /// Announces the request and waits. Returns true once it is served, or false if this thread holds
  /// the lock and must serve itself.
  bool served_by_another(int self, Request& request) {
    const PhaseScope<M> waiting(Phase::lock_wait);
    Slot& slot = slots_[self];
    slot.request = &request;
    slot.state.store(kAnnounced, std::memory_order_seq_cst);
    if (try_lock()) {
      // Acquire: pairs with answer(). Combiners change slots only under the lock, so the state is
      // final.
      const bool served = slot.state.load(std::memory_order_acquire) == kServed;
      // Relaxed: combiners take requests only under the lock, which this thread holds.
      slot.state.store(kIdle, std::memory_order_relaxed);
      M::reach(served ? Probe{"combining.served_meanwhile"} : Probe{"combining.free_meanwhile"});
      if (served) {
        unlock(self);
      }
      return served;
    }
    const uint64_t state = wait_for_answer(slot);
    // Relaxed: combiners ignore kServed and kLeading as well as kIdle.
    slot.state.store(kIdle, std::memory_order_relaxed);
    return state == kServed;
  }

  /// Returns kServed or kLeading. Throws MediumFailure, but never while a combiner may use the
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

  /// Withdraws the request, or waits until the combiner that has taken it is done with it.
  uint64_t abandon(Slot& slot) {
    uint64_t state = kAnnounced;
    if (slot.state.compare_exchange(state, kIdle)) {
      return kIdle;
    }
    // Acquire: pairs with answer().
    while ((state = slot.state.load(std::memory_order_acquire)) == kTaken) {
      machine_.pause();  // waits of the machine throw by now
    }
    return state;
  }

  void fail_batch(const std::exception_ptr& failure) {
    for (size_t i = 0; i < taken_count_; ++i) {
      slots_[taken_[i]].request->error = failure;
    }
    answer(0);
  }

  M& machine_;
  const bool combine_;
  Word* lock_;
  Slot* slots_;
  // The running batch; protected by the lock.
  std::array<int, kMaxThreads> taken_{};
  size_t taken_count_ = 0;
};

}  // namespace holdfast
