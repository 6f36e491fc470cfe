// SPDX-License-Identifier: Apache-2.0
// The path under the global lock; included by pht.h.
#pragma once

#include <algorithm>

namespace holdfast {

/// Runs the body alone: `concurrency_.lock` guarantees that no other transaction runs or commits
/// until the lock is released. Stores go to the data in place, because no other transaction can see
/// them. The old values are kept for a body that throws.
///
/// The transaction need not announce itself before it reads the clock. Until the lock is released,
/// no other transaction reads a later time, and by then this one is durable. Space in the log was
/// made before.
template <class M, template <class> class C, template <class> class D>
typename Pht<M, C, D>::Outcome Pht<M, C, D>::locked(Thread& t, FunctionRef<void()> body,
                                                    Mode mode) {
  M::phase(Phase::lock_wait);
  concurrency_.lock(t);
  statistics_.at(t.slot).lock_fallbacks += 1;
  M::phase(Phase::execute);
  t.begin(mode, Path::locked);
  bool aborted = false;
  const std::exception_ptr failure = run_body<M>(t, body, aborted);
  if (failure) [[unlikely]] {
    return leave_lock(t, failure);
  }
  if (mode == Mode::read) {
    M::reach(Probe{"pht.lock.read"});
  }
  const uint64_t time = durability_.time();
  if (t.log.empty()) {  // it has changed nothing, so others may run before finish()
    concurrency_.unlock(t);
    finish(t, mode, time);
  } else {
    durability_.announce(t.slot, time);
    finish(t, mode, time);
    concurrency_.unlock(t);
  }
  return Outcome::committed;
}

/// Undoes the body and rethrows the user's exception. Returns log_full without the lock if the log
/// was full.
template <class M, template <class> class C, template <class> class D>
typename Pht<M, C, D>::Outcome Pht<M, C, D>::leave_lock(Thread& t,
                                                        const std::exception_ptr& failure) {
  M::phase(Phase::roll_back);
  if (machine_.skips(Site{"pht.roll_back.order"})) {
    std::reverse(t.undo.begin(), t.undo.end());
  }
  t.roll_back();
  const uint64_t time = durability_.time();
  concurrency_.unlock(t);
  if (t.log.full()) {
    durability_.park(t.slot);
    return Outcome::log_full;
  }
  M::reach(Probe{"pht.lock.user_abort"});
  fail(t, time, failure);
}

}  // namespace holdfast
