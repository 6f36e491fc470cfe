// SPDX-License-Identifier: Apache-2.0
//
// What engines over the lazy snapshot algorithm share: everything but what a commit does.
#pragma once

#include <memory>
#include <vector>

#include "holdfast/engines/common/lsa_options.h"
#include "holdfast/engines/common/lsa_thread.h"
#include "holdfast/engines/common/slot_statistics.h"
#include "holdfast/engines/common/software_transaction.h"

namespace holdfast {

/// Derived:
///   bool commit(Thread& t)   publishes t.writes, which are not empty, and gives the stripes up.
///                            False: what was read is no longer valid; nothing has changed. Throws
///                            Error for what cannot be committed, MediumFailure.
///   void before_answer(const Thread& t)
///                            before the caller learns what a transaction that stored nothing, or
///                            failed, has read
///
/// Read-only transactions keep no read set, as in TinySTM, and so cannot extend their snapshot:
/// they begin anew when they come upon something newer. After `untracked_reads` attempts they do
/// keep one.
template <class M, class Derived>
class LsaEngine : public SoftwareAccess<M, LsaThread<M>> {
 public:
  using Machine = M;
  using Thread = LsaThread<M>;

  void update(FunctionRef<void()> body) {
    Thread& t = here();
    const TransactionScope<M> scope(TransactionKind::update);
    typename RightOfWay<M>::Claim claim(way_, t.backoff);
    for (;;) {
      claim.await();
      M::phase(Phase::execute);
      t.begin(Context::Mode::update, true);
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
    typename RightOfWay<M>::Claim claim(way_, t.backoff);
    for (;;) {
      claim.await();
      M::phase(Phase::execute);
      t.begin(Context::Mode::read, claim.aborts() >= lsa_options_.untracked_reads);
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
  LsaEngine(M& machine, const Regions& regions, const LsaOptions& options)
      : machine_(machine),
        lsa_options_(options),
        clock_(make_array<VersionClock<M>>(machine, 1)),
        way_(machine, options.patience),
        statistics_(machine) {
    const OwnershipTable<M> table(machine, options.locks);
    for (int slot = 0; slot < machine.slots(); ++slot) {
      threads_.push_back(std::make_unique<Thread>(machine, table, *clock_, slot));
      threads_.back()->data = regions.data;
      threads_.back()->capacity = regions.capacity;
    }
  }
  LsaEngine(const LsaEngine&) = delete;
  LsaEngine& operator=(const LsaEngine&) = delete;
  ~LsaEngine() = default;

  M& machine_;
  const LsaOptions lsa_options_;
  VersionClock<M>* clock_;
  RightOfWay<M> way_;
  SlotStatistics<M> statistics_;

 private:
  Derived& derived() { return static_cast<Derived&>(*this); }

  Thread& here() {
    const int slot = machine_.self();
    if (slot < 0 || static_cast<size_t>(slot) >= threads_.size()) [[unlikely]] {
      throw too_many_threads();
    }
    return *threads_[static_cast<size_t>(slot)];
  }

  /// False: to be tried again.
  bool finish_update(Thread& t, const std::exception_ptr& failure) {
    if (t.doomed) {
      return false;
    }
    if (failure) [[unlikely]] {
      // What the body has seen was consistent, and the exception tells of it.
      t.release_unchanged();
      derived().before_answer(t);
      fail(t, failure);
    }
    if (t.writes.empty()) {
      derived().before_answer(t);
      return true;
    }
    M::phase(Phase::commit);
    try {
      return derived().commit(t);
    } catch (const Error&) {
      t.release_unchanged();
      statistics_.at(t.slot).user_aborts += 1;
      throw;
    }
  }

  void abandon(Thread& t, typename RightOfWay<M>::Claim& claim) {
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
