// SPDX-License-Identifier: Apache-2.0
// The path under the single global lock, which Algorithm 1 leaves out; included by fur.h.
#pragma once

namespace holdfast {

/// Runs the body alone. Four rules make that correct:
///  1. Set the own state INACTIVE, take the lock, fence, and wait for every ACTIVE thread. A thread
///     that becomes ACTIVE later sees the lock behind its own fence and retracts. That covers
///     readers, which have no transaction to doom.
///  2. A committer in its isolation wait is INACTIVE already, so it is not waited for. An access to
///     its write set, or a store to its read set, dooms it or waits until it has published. So it
///     comes entirely before this transaction, or does not commit.
///  3. Such a committer's data may be visible but not durable. So the holder waits for all
///     NON_DURABLE transactions, whatever their numbers, before it takes its own number and stores
///     its marker. None of them waits for the lock.
///  4. The lock is released last, so that a transaction that begins afterwards reads durable data.
/// Space in the log was made before, so the holder never waits for the replayer. If the space runs
/// out, the body is undone and run again with the whole log.
template <class M, Tracking kTracking>
typename Fur<M, kTracking>::Outcome Fur<M, kTracking>::locked(Thread& t, FunctionRef<void()> body) {
  M::phase(Phase::lock_wait);
  lock_.acquire();
  M::phase(Phase::isolation_wait);
  // Separates the lock's store from the scan; counterpart of the fence in enter().
  machine_.fence(Site{"fur.lock"});
  states_.await_active(t.slot, t.scratch.data(), [] { return false; }, Site{"fur.lock.scan"});
  counts(t).lock_fallbacks += 1;

  M::phase(Phase::execute);
  t.prepare(Path::locked);
  bool aborted = false;
  std::exception_ptr failure = run_body<M>(t, body, aborted);
  if (!failure) [[likely]] {
    failure = t.make_stage();  // while the stores can be undone
  }
  if (failure) [[unlikely]] {
    return leave_lock(t, failure);
  }
  if (t.log.empty()) {
    M::reach(Probe{"fur.lock.no_store"});
    M::phase(Phase::durability_wait);
    // Waits for the transactions that the body may have read from.
    states_.await_all_durable(t.slot, Site{"fur.lock.read.durability_wait"});
    count_update(t);
    lock_.release();
    return Outcome::committed;
  }
  M::phase(Phase::log_flush);
  stage(
      t, [&](const uint64_t* p) { return t.htm->outside_load(p); },
      [&](void* to, const void* from, size_t n) { t.htm->outside_load_range(to, from, n); },
      [] { return false; });
  t.redo.write(t.staged.data(), t.log.bytes(), Site{"fur.lock.log"});
  // Separates the log from the marker: the log is durable before the marker is stored.
  machine_.pfence(Site{"fur.lock.log.fence"});
  M::phase(Phase::durability_wait);
  // Everything the body may have read is durable as well.
  states_.await_all_durable(t.slot, Site{"fur.lock.durability_wait"});
  M::phase(Phase::marker_flush);
  t.number = log_.take_number(t.slot);  // above the numbers of all it depends on
  write_marker(t, Site{"fur.lock.marker"});
  // Separates the marker from the release of the lock: it is durable before others read the data.
  machine_.pfence(Site{"fur.lock.marker.fence"});
  t.redo.advance(t.log.bytes());
  states_.settle(t.slot);
  count_update(t);
  lock_.release();
  return Outcome::committed;
}

/// Undoes the lock path's stores, which went to the data in place: restores the old values, newest
/// first. Rethrows the user's exception. Returns log_full without the lock if the log was full.
template <class M, Tracking kTracking>
typename Fur<M, kTracking>::Outcome Fur<M, kTracking>::leave_lock(
    Thread& t, const std::exception_ptr& failure) {
  M::phase(Phase::roll_back);
  if (machine_.skips(Site{"fur.lock.roll_back.order"})) {
    std::reverse(t.undo.begin(), t.undo.end());
  }
  for (auto old = t.undo.rbegin(); old != t.undo.rend(); ++old) {
    t.htm->outside_store(old->at, old->value);
  }
  if (t.log_full) {
    lock_.release();
    return Outcome::log_full;
  }
  M::phase(Phase::durability_wait);
  // The exception may reveal what the body has read.
  states_.await_all_durable(t.slot, Site{"fur.lock.failure.durability_wait"});
  M::reach(Probe{"fur.lock.user_abort"});
  counts(t).user_aborts += 1;
  lock_.release();
  std::rethrow_exception(failure);
}

}  // namespace holdfast
