// SPDX-License-Identifier: Apache-2.0
//
// The frame of engines with software transactions: it repeats attempts until one commits, and
// delivers results and exceptions. The engine defines the transaction, its commit, and the order
// among conflicting transactions.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/isolation/stm/software_transaction.h"

namespace holdfast {

/// The frame; see Engine in engine.h for the contract.
///
/// Thread is a SoftwareContext with
///   writes, backoff          its write set; its Backoff
///   release_unchanged()      releases everything that an attempt has taken without storing
/// Way is RightOfWay, or a class with a Claim like it.
/// Derived has
///   void begin(Thread& t, Context::Mode mode, uint64_t aborts)
///                            begins an attempt; `aborts` attempts were aborted before
///   bool commit(Thread& t)   publishes t.writes, which are not empty, and releases everything it
///                            has taken. Returns false, changing nothing, if a value read has
///                            changed. Throws MediumFailure; any other exception, of a transaction
///                            that cannot be committed or gets no memory, before it has published
///                            or released anything
///   void before_answer(const Thread& t)
///                            called for a transaction that stored nothing, or failed, before its
///                            caller gets values it has read
template <class M, class Derived, class Thread, class Way>
class SoftwareEngine : public SoftwareAccess<M, Thread> {
 public:
  using Machine = M;

  void update(FunctionRef<void()> body) {
    Thread& t = here();
    const TransactionScope<M> scope(TransactionKind::update);
    typename Way::Claim claim(way_, t.backoff);
    for (;;) {
      claim.await();
      M::phase(Phase::execute);
      derived().begin(t, Context::Mode::update, claim.aborts());
      const std::exception_ptr failure = run_body<M>(t, body);
      if (finish_update(t, failure)) {
        break;
      }
      abandon(t, claim);
    }
    statistics_.at(t.slot).update_commits += 1;
    statistics_.at(t.slot).bytes_stored += t.stored_bytes;
  }

  void read(FunctionRef<void()> body) {
    Thread& t = here();
    const TransactionScope<M> scope(TransactionKind::read);
    typename Way::Claim claim(way_, t.backoff);
    for (;;) {
      claim.await();
      M::phase(Phase::execute);
      derived().begin(t, Context::Mode::read, claim.aborts());
      const std::exception_ptr failure = run_body<M>(t, body);
      if (t.doomed) {
        abandon(t, claim);
        continue;
      }
      derived().before_answer(t);
      if (failure) {
        fail(t, failure);
      }
      break;
    }
    statistics_.at(t.slot).read_commits += 1;
  }

  Statistics statistics() const { return statistics_.sum(); }

 protected:
  ~SoftwareEngine() = default;

  /// Adds the thread of the next slot.
  void add_thread(std::unique_ptr<Thread> thread, const Regions& regions) {
    thread->data = regions.data;
    thread->capacity = regions.capacity;
    threads_.push_back(std::move(thread));
  }

  Thread& here() {
    const int slot = machine_.self();
    if (slot < 0 || static_cast<size_t>(slot) >= threads_.size()) [[unlikely]] {
      throw too_many_threads();
    }
    return *threads_[static_cast<size_t>(slot)];
  }

  M& machine_;
  Way way_;
  SlotStatistics<M> statistics_;

 private:
  friend Derived;
  /// `way`: arguments of Way besides the machine. The derived class adds the threads.
  template <class... WayArguments>
  explicit SoftwareEngine(M& machine, WayArguments... way)
      : machine_(machine), way_(machine, way...), statistics_(machine) {}
  SoftwareEngine(const SoftwareEngine&) = delete;
  SoftwareEngine& operator=(const SoftwareEngine&) = delete;

  Derived& derived() { return static_cast<Derived&>(*this); }

  /// Returns false if the attempt must be repeated.
  bool finish_update(Thread& t, const std::exception_ptr& failure) {
    if (t.doomed) {
      return false;
    }
    if (failure) [[unlikely]] {
      // The body has read a consistent state, and the exception may reveal it.
      t.release_unchanged();
      derived().before_answer(t);
      fail(t, failure);
    }
    if (t.writes.empty()) {
      derived().before_answer(t);
      return true;
    }
    M::phase(Phase::commit);
    std::exception_ptr refused;
    try {
      return derived().commit(t);
    } catch (const MediumFailure&) {
      throw;
    } catch (...) {
      refused = std::current_exception();
    }
    // The error reveals what the body has read, as an exception of the body does.
    t.release_unchanged();
    derived().before_answer(t);
    fail(t, refused);
  }

  void abandon(Thread& t, typename Way::Claim& claim) {
    M::phase(Phase::aborted);
    t.release_unchanged();
    auto& counts = statistics_.at(t.slot);
    counts.aborts[static_cast<size_t>(AbortCause::conflict)] += 1;
    const bool held = claim.held();
    claim.aborted();
    counts.lock_fallbacks += claim.held() && !held ? 1 : 0;
  }

  [[noreturn]] void fail(Thread& t, const std::exception_ptr& failure) {
    statistics_.at(t.slot).user_aborts += 1;
    std::rethrow_exception(failure);
  }

  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace holdfast
